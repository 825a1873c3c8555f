import { Text } from '../../platform/http/fields/fields.js';

export class TimestampKeyParam {
  /** An API key with only the permission `timestamps:issue`. @example sw_0123456789ab_0123456789abcdefghijklmnopqrstuvwxyzAB */
  @Text(1, 200) key: string;
}
