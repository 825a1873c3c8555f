import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { AssetFilterQuery } from '../assets/assets-query.dto.js';
import { DEFAULT_EXPORT_VERSION, EXPORT_VERSIONS, type ExportVersion } from './export-versions.js';

/** Filter for the exported assets. All given conditions must match. */
export class ExportQuery extends OmitType(AssetFilterQuery, ['limit', 'cursor'] as const) {}

const TRUTH: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

export class CsvExportQuery extends ExportQuery {
  /**
   * Whether the file begins with a UTF-8 byte order mark, which Excel on Windows needs to display accented characters. Use false if a program reads the file.
   * @example true
   */
  @ApiProperty({ type: Boolean, required: false, default: true })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (TRUTH[value] ?? value) : value))
  @IsBoolean()
  bom: boolean = true;
}

export class BomExportQuery extends ExportQuery {
  /** Whether to include the signing keys, certificates and pinned host keys of this service. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  own?: boolean;
  /** CycloneDX version of the document. */
  @Optional(OneOf(EXPORT_VERSIONS, { default: DEFAULT_EXPORT_VERSION }))
  version: ExportVersion = DEFAULT_EXPORT_VERSION;
}

export class SignedBomExportQuery extends BomExportQuery {
  /** Name or ID of the signing key. It must be an EC or RSA key that signs without approval. @example default */
  @Text(1, 64) key: string;
}
