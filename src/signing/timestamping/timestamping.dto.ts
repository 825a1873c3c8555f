import { Text } from '../../platform/http/fields/fields.js';

export class TimestampKeyParam {
  /** API key with only the `timestamps:issue` permission. @example sw_0123456789ab_0123456789abcdefghijklmnopqrstuvwxyzAB */
  @Text(1, 200) key: string;
}
