/**
 * DsseEnvelope holds a payload and the signatures over both its type and its bytes (secure-systems-lab/dsse v1). New signatures have no
 * `keyid`: verifiers on go-securesystemslib, such as cosign, compute an id of their key and skip signatures that name another one.
 */
export interface DsseEnvelope {
  readonly payloadType: string;
  /** Base64. */
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly keyid?: string }[];
}

/** Types of an in-toto statement v1: its `_type`, and its media type as the payload of an envelope (in-toto Attestation Framework). */
export const IN_TOTO_STATEMENT = 'https://in-toto.io/Statement/v1';
export const IN_TOTO_PAYLOAD = 'application/vnd.in-toto+json';

/** Media type of a Sigstore bundle v0.3, which holds an envelope or a signature of a message. */
export const SIGSTORE_BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

/** An in-toto statement in an envelope, with its one signature. */
export function inTotoEnvelope(statement: Buffer, signature: DsseEnvelope['signatures'][number]): DsseEnvelope {
  return { payloadType: IN_TOTO_PAYLOAD, payload: statement.toString('base64'), signatures: [signature] };
}

/** The pre-authentication encoding of DSSE: what is signed. Lengths are in bytes, decimal. */
export function preAuthEncoding(payloadType: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}
