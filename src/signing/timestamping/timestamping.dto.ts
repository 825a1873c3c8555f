import { IsString, Length } from 'class-validator';

export class TimestampKeyParam {
  /** An API key with the permission `timestamps:issue` and no other. @example sw_0123456789ab_0123456789abcdefghijklmnopqrstuvwxyzAB */
  @IsString()
  @Length(1, 200)
  key: string;
}
