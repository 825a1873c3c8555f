import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsOptional,
  IsString,
  Length,
  ValidateIf,
} from 'class-validator';
import { IsDateTime } from '../../platform/http/field-rules.js';
import { PageQuery } from '../../platform/http/page.js';
import { type Level, LEVELS } from '../model/risk-verdict.js';
import { ASSET_KINDS, ASSET_STATES, type AssetKind, type AssetState } from '../model/asset-kind.js';
import { ASSET_SORTS, type AssetSort } from './assets.reader.js';

/** Which assets: every condition that is given must hold. */
export class AssetFilterQuery extends PageQuery {
  @ApiProperty({ enum: ASSET_KINDS, required: false })
  @IsOptional()
  @IsIn(ASSET_KINDS)
  kind?: AssetKind;

  @ApiProperty({ enum: ASSET_STATES, required: false })
  @IsOptional()
  @IsIn(ASSET_STATES)
  state?: AssetState;

  @ApiProperty({ enum: LEVELS, required: false })
  @IsOptional()
  @IsIn(LEVELS)
  level?: Level;

  /** This level or a higher one. */
  @ApiProperty({ enum: LEVELS, required: false })
  @IsOptional()
  @IsIn(LEVELS)
  minLevel?: Level;

  /** Algorithm family, as the rules name it. @example RSA */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  family?: string;

  /** Status on the quantum axis. @example quantum-vulnerable */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  quantum?: string;

  /** Status on the classical axis. @example disallowed */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  classical?: string;

  /** The rule that decided. @example Q-RSA-SIG-112 */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  rule?: string;

  /** Start of the name. @example RSA */
  @IsOptional()
  @IsString()
  @Length(1, 500)
  name?: string;

  /** Name of a source that shows it. @example https://github.com/keycloak/keycloak */
  @IsOptional()
  @IsString()
  @Length(1, 500)
  source?: string;

  /** Start of a location. @example db1.example.com */
  @IsOptional()
  @IsString()
  @Length(1, 500)
  location?: string;

  /** Who answers for it. @example payments */
  @IsOptional()
  @IsString()
  @Length(1, 200)
  owner?: string;

  /** A label that it has. @example pci */
  @IsOptional()
  @IsString()
  @Length(1, 100)
  label?: string;

  /** First seen after this time. */
  @IsOptional()
  @IsDateTime()
  firstSeenAfter?: Date;

  /** Seen by some source since this time. */
  @IsOptional()
  @IsDateTime()
  lastSeenAfter?: Date;

  /** Seen by no source since this time. */
  @IsOptional()
  @IsDateTime()
  lastSeenBefore?: Date;

  /** Certificates and keys that end at this time or later. */
  @IsOptional()
  @IsDateTime()
  expiresAfter?: Date;

  /** Certificates and keys that end before this time. */
  @IsOptional()
  @IsDateTime()
  expiresBefore?: Date;

  /** A query: comparisons with and, or, not and brackets; `*` stands for anything. @example 'level>=HIGH and family=RSA and bits<3072 and host=db*' */
  @IsOptional()
  @IsString()
  @Length(1, 2000)
  q?: string;
}

export class AssetsQuery extends AssetFilterQuery {
  /** -level is the worst first; notAfter lists what ends, the next first. */
  @ApiProperty({ enum: ASSET_SORTS, required: false, default: 'id' })
  @IsOptional()
  @IsIn(ASSET_SORTS)
  sort?: AssetSort;

  /** true: count the matches too, up to 10,000. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  total?: boolean;
}

export class AnnotateAssetBody {
  /** A team or a person; null for nobody. @example payments */
  @ApiProperty({ type: String, nullable: true, required: false })
  @ValidateIf((_, value) => value !== null && value !== undefined)
  @IsString()
  @Length(1, 200)
  owner?: string | null;

  /** All of its labels. @example ["pci", "internet-facing"] */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @ArrayUnique()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  labels?: string[];
}

export class AsOfQuery {
  /** Judge deadlines and validity as of this time; now when absent. */
  @IsOptional()
  @IsDateTime()
  asOf?: Date;
}
