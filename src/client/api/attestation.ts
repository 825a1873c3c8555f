import { type DsseEnvelope, IN_TOTO_STATEMENT, SIGSTORE_BUNDLE } from '../../formats/dsse/dsse.js';

interface AttestedFile {
  readonly name: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** An in-toto statement about files, as it is signed. */
export function statementAbout(files: readonly AttestedFile[], predicateType: string, predicate: unknown): Buffer {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }));
  return Buffer.from(JSON.stringify({ _type: IN_TOTO_STATEMENT, subject, predicateType, predicate }));
}

/** A Sigstore bundle v0.3 around an envelope; the key is named by the hint that its signature has. */
export function bundleOf(dsseEnvelope: DsseEnvelope) {
  const verificationMaterial = { publicKey: { hint: dsseEnvelope.signatures[0]?.keyid }, tlogEntries: [] };
  return { mediaType: SIGSTORE_BUNDLE, verificationMaterial, dsseEnvelope };
}
