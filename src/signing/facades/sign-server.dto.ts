import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';

export class WorkerParam {
  /** Name of a signing key. Each signing key acts as a worker. @example release-2027 */
  @Matches(/^\w[\w.-]{0,199}$/) name: string;
}

/** Values are parsed as strings. Unknown names are ignored. */
export class ProcessMetaData {
  /** If `true`, the data is a hash value. Otherwise the service hashes the data (at most 32 KB). @example 'true' */
  USING_CLIENTSUPPLIED_HASH?: string;
  /** Hash algorithm. Defaults to SHA-256. @example SHA-256 */
  CLIENTSIDE_HASHDIGESTALGORITHM?: string;
  /** File name, shown to approvers. @example app.exe */
  FILENAME?: string;
}

/** Field names are SignServer's. Unknown fields are ignored. */
export class ProcessBody {
  /** The hash value, or the data to be hashed, in the given encoding. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  data: string;
  /** Encoding of the data; must be BASE64 for a hash value. With NONE, or without an encoding, the data is parsed as text. @example BASE64 */
  encoding?: string;
  /** File name shown to approvers if `metaData` has no FILENAME. SignClient sends the file name in this field. @example app.exe */
  filename?: string;
  metaData?: ProcessMetaData;
}

export class ProcessView {
  /** Signature, base64. Empty for the hash of empty data, which clients send to get the certificate. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  data: string;
  /** ID of the signing request; empty if nothing was signed. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  archiveId: string;
  /** The key's certificate, DER in base64. @example MIIBszCCAVmgAwIBAgIUQ0Zr */
  signerCertificate: string;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: {} })
  metaData: Record<string, string>;
}

export class SignServerError {
  /** Description of the error. @example 'No active signing key is named nobody.' */
  error: string;
}
