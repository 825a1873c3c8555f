import { Type } from 'class-transformer';
import { Equals, IsOptional, IsString, Length, Matches, ValidateNested } from 'class-validator';

export class WorkerParam {
  /** Name of a signing key, in place of a worker. @example release-2027 */
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/)
  name: string;
}

export class ProcessMetaData {
  /** The data is a hash value: the only way that is served. @example true */
  @Equals('true')
  USING_CLIENTSUPPLIED_HASH: string;

  /** @example SHA-256 */
  @IsString()
  @Length(1, 16)
  CLIENTSIDE_HASHDIGESTALGORITHM: string;

  /** @example app.exe */
  @IsOptional()
  @IsString()
  @Length(1, 1024)
  FILENAME?: string;
}

/** Names are SignServer's. */
export class ProcessBody {
  /** Base64 of the hash value. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @IsString()
  @Length(1, 128)
  data: string;

  /** @example BASE64 */
  @Equals('BASE64')
  encoding: string;

  @ValidateNested()
  @Type(() => ProcessMetaData)
  metaData: ProcessMetaData;
}

export class ProcessView {
  /** Base64 of the signature; empty when the hash was that of nothing, by which clients ask for the certificate. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  data: string;
  /** Id of the signing request. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  archiveId?: string;
  /** Base64 of the certificate of the key, DER. @example MIIBszCCAVmgAwIBAgIUQ0Zr */
  signerCertificate?: string;
}
