import type { DsseEnvelope } from '../../formats/dsse/dsse.js';

/** The type of an in-toto statement inside a DSSE envelope (in-toto Attestation Framework 1.0). */
export const IN_TOTO_PAYLOAD = 'application/vnd.in-toto+json';
const STATEMENT = 'https://in-toto.io/Statement/v1';
const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

export interface AttestedFile {
  readonly name: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** An in-toto statement about files, as it is signed. */
export function statementAbout(files: readonly AttestedFile[], predicateType: string, predicate: unknown): Buffer {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }));
  return Buffer.from(JSON.stringify({ _type: STATEMENT, subject, predicateType, predicate }));
}

type DsseSignature = DsseEnvelope['signatures'][number];

export function envelopeOf(payload: Buffer, signature: DsseSignature): DsseEnvelope {
  return { payload: payload.toString('base64'), payloadType: IN_TOTO_PAYLOAD, signatures: [signature] };
}

/** A Sigstore bundle v0.3 around an envelope. */
export function bundleOf(payload: Buffer, signature: DsseSignature) {
  const verificationMaterial = { publicKey: { hint: signature.keyid }, tlogEntries: [] };
  return { mediaType: BUNDLE, verificationMaterial, dsseEnvelope: envelopeOf(payload, signature) };
}
