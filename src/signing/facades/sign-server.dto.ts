import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';

export class WorkerParam {
  /** Name of a signing key, in place of a worker. @example release-2027 */
  @Matches(/^\w[\w.-]{0,199}$/) name: string;
}

/** Read as texts; names that are not here are ignored. */
export class ProcessMetaData {
  /** `true`: the data is a hash value. Else the data, of at most 32 KB, is hashed here. @example 'true' */
  USING_CLIENTSUPPLIED_HASH?: string;
  /** SHA-256 when absent. @example SHA-256 */
  CLIENTSIDE_HASHDIGESTALGORITHM?: string;
  /** Shown to approvers. @example app.exe */
  FILENAME?: string;
}

/** Names are SignServer's. Unknown ones are ignored. */
export class ProcessBody {
  /** The hash value, or the data to be hashed, in the given encoding. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  data: string;
  /** BASE64. With NONE, or without an encoding, the data is text and cannot be a hash value. @example BASE64 */
  encoding?: string;
  /** File name for approvers if `metaData` has no FILENAME; SignClient sends it here. @example app.exe */
  filename?: string;
  metaData?: ProcessMetaData;
}

export class ProcessView {
  /** Base64 of the signature; empty if the hash was that of empty data, with which clients request the certificate. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p */
  data: string;
  /** Id of the signing request; empty when nothing was signed. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  archiveId: string;
  /** Base64 of the certificate of the key, DER. @example MIIBszCCAVmgAwIBAgIUQ0Zr */
  signerCertificate: string;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: {} })
  metaData: Record<string, string>;
}

export class SignServerError {
  /** Description of the error. @example 'There is no active signing key "nobody".' */
  error: string;
}
