import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { WholeNumber } from './field-rules.js';

/** PageQuery holds the query parameters of every list. */
export class PageQuery {
  /** Maximum items per page. */
  @IsOptional()
  @WholeNumber()
  @IsInt()
  @Min(1)
  @Max(200)
  limit?: number;

  /** Pagination cursor: `nextCursor` of the previous page. */
  @IsOptional()
  @IsString()
  @MaxLength(1024)
  cursor?: string;
}
