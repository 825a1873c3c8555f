import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional, IsString, Length, ValidateIf } from 'class-validator';
import { ListOf, Moment, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { PageQuery } from '../../../platform/http/page.js';
import { type Level, LEVELS } from '../../model/risk-verdict.js';
import { ASSET_KINDS, ASSET_STATES, type AssetKind, type AssetState } from '../../model/asset-kind.js';
import { ASSET_SORTS, type AssetSort } from './assets.reader.js';

/** Filter for assets. All given conditions must match. */
export class AssetFilterQuery extends PageQuery {
  @Optional(OneOf(ASSET_KINDS)) kind?: AssetKind;
  @Optional(OneOf(ASSET_STATES)) state?: AssetState;
  @Optional(OneOf(LEVELS)) level?: Level;
  /** Minimum risk level. */
  @Optional(OneOf(LEVELS)) minLevel?: Level;
  /** Name of the algorithm family in the rules. @example RSA */
  @Optional(Text(1, 100)) family?: string;
  /** Status on the quantum axis. @example quantum-vulnerable */
  @Optional(Text(1, 100)) quantum?: string;
  /** Status on the classical axis. @example disallowed */
  @Optional(Text(1, 100)) classical?: string;
  /** Rule that determined the verdict. @example Q-RSA-SIG-112 */
  @Optional(Text(1, 100)) rule?: string;
  /** Prefix of the name. @example RSA */
  @Optional(Text(1, 500)) name?: string;
  /** Name of a source that reports the asset. @example https://github.com/keycloak/keycloak */
  @Optional(Text(1, 500)) source?: string;
  /** Prefix of a location. @example db1.example.com */
  @Optional(Text(1, 500)) location?: string;
  /** Owner of the asset: a team or person. @example payments */
  @Optional(Text(1, 200)) owner?: string;
  /** Label of the asset. @example pci */
  @Optional(Text(1, 100)) label?: string;
  /** Only assets first seen after this time. */
  @Optional(Moment()) firstSeenAfter?: Date;
  /** Only assets that a source has reported since this time. */
  @Optional(Moment()) lastSeenAfter?: Date;
  /** Only assets that no source has reported since this time. */
  @Optional(Moment()) lastSeenBefore?: Date;
  /** Only certificates and keys that expire at or after this time. */
  @Optional(Moment()) expiresAfter?: Date;
  /** Only certificates and keys that expire before this time. */
  @Optional(Moment()) expiresBefore?: Date;
  /** Query: comparisons, `and`, `or`, `not` and parentheses; `*` is a wildcard. @example 'level>=HIGH and family=RSA and bits<3072 and host=db*' */
  @Optional(Text(1, 2000)) q?: string;
}

export class AssetsQuery extends AssetFilterQuery {
  /** Sort order: `-level` by risk, highest first; `notAfter` by expiry, earliest first. */
  @Optional(OneOf(ASSET_SORTS, { default: 'id' })) sort?: AssetSort;
  /** Whether to also count the matches, up to 10,000. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  total?: boolean;
}

export class AnnotateAssetBody {
  /** Responsible team or person. Set to `null` to remove the owner. @example payments */
  @ApiProperty({ type: String, nullable: true, required: false })
  @ValidateIf((_, value) => value !== null && value !== undefined)
  @IsString()
  @Length(1, 200)
  owner?: string | null;
  /** Complete list of labels. Replaces the existing labels. @example ["pci", "internet-facing"] */
  @Optional(ListOf(Text(1, 100), { max: 50, unique: true })) labels?: string[];
}

export class AsOfQuery {
  /** Time for which deadlines and validity are evaluated. Defaults to the current time. */
  @Optional(Moment()) asOf?: Date;
}
