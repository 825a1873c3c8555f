import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { WholeNumber } from './field-rules.js';

/** Query of every list. */
export class PageQuery {
  /** Items per page. */
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(200)
  limit?: number;

  /** Where the page starts: `nextCursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(1024)
  cursor?: string;
}
