/**
 * DsseEnvelope contains a payload and the signatures over its type and bytes (secure-systems-lab/dsse v1). New signatures have no `keyid`: verifiers based on
 * go-securesystemslib, such as cosign, compute their own key ID and skip signatures with a different key ID.
 */
export interface DsseEnvelope {
  readonly payloadType: string;
  /** Base64. */
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly keyid?: string }[];
}

/** IN_TOTO_STATEMENT is the `_type` of an in-toto statement v1, and IN_TOTO_PAYLOAD its media type in an envelope (in-toto Attestation Framework). */
export const IN_TOTO_STATEMENT = 'https://in-toto.io/Statement/v1';
export const IN_TOTO_PAYLOAD = 'application/vnd.in-toto+json';

/** SIGSTORE_BUNDLE is the media type of a Sigstore bundle v0.3, which contains an envelope or a message signature. */
export const SIGSTORE_BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

/** Returns an envelope that contains an in-toto statement and its signature. */
export function inTotoEnvelope(statement: Buffer, signature: DsseEnvelope['signatures'][number]): DsseEnvelope {
  return { payloadType: IN_TOTO_PAYLOAD, payload: statement.toString('base64'), signatures: [signature] };
}

/** Returns the DSSE pre-authentication encoding (PAE), which is the signed data. Lengths are in bytes, in decimal. */
export function preAuthEncoding(payloadType: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}
