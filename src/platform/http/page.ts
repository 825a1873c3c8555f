import { IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import { WholeNumber } from './field-rules.js';

/** PageQuery holds the query parameters of every list. */
export class PageQuery {
  /** Maximum number of items per page. */
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

/** NamedPageQuery holds the query parameters of a list whose items have names. */
export class NamedPageQuery extends PageQuery {
  /** Only items with this name. A final `*` matches every name that starts with the text before it; all other characters are literal. @example release* */
  @IsOptional()
  @IsString()
  @Length(1, 200)
  name?: string;
}
