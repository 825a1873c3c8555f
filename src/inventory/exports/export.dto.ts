import { OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional, IsString, Length } from 'class-validator';
import { AssetFilterQuery } from '../assets/assets-query.dto.js';

/** Which assets: every condition that is given must hold. */
export class ExportQuery extends OmitType(AssetFilterQuery, ['limit', 'cursor'] as const) {}

export class BomExportQuery extends ExportQuery {
  /** true: with the signing keys, certificates and pinned host keys of this service itself, beside what is asked for. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  own?: boolean;
}

export class SignedBomExportQuery extends BomExportQuery {
  /** Name or id of the signing key: EC or RSA, and one that signs without asking people first. @example default */
  @IsString()
  @Length(1, 64)
  key: string;
}
