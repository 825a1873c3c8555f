import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { AssetFilterQuery } from '../assets/assets-query.dto.js';
import { DEFAULT_EXPORT_VERSION, EXPORT_VERSIONS, type ExportVersion } from './export-versions.js';

/** Which assets: every condition that is given must hold. */
export class ExportQuery extends OmitType(AssetFilterQuery, ['limit', 'cursor'] as const) {}

const TRUTH: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

export class CsvExportQuery extends ExportQuery {
  /** Begins with a byte order mark (UTF-8), without which Excel on Windows misreads accents. false: for programs. @example true */
  @ApiProperty({ type: Boolean, required: false, default: true })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (TRUTH[value] ?? value) : value))
  @IsBoolean()
  bom: boolean = true;
}

export class BomExportQuery extends ExportQuery {
  /** true: includes the signing keys, certificates and pinned host keys of this service. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  own?: boolean;
  /** Version of CycloneDX. */
  @Optional(OneOf(EXPORT_VERSIONS, { default: DEFAULT_EXPORT_VERSION }))
  version: ExportVersion = DEFAULT_EXPORT_VERSION;
}

export class SignedBomExportQuery extends BomExportQuery {
  /** Name or ID of the signing key: EC or RSA, and one that signs without approval. @example default */
  @Text(1, 64) key: string;
}
