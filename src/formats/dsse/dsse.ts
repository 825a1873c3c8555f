/** DSSE (secure-systems-lab/dsse v1): an envelope around a payload and the signatures over both its type and its bytes. */
export interface DsseEnvelope {
  readonly payloadType: string;
  /** Base64. */
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly keyid: string }[];
}

/** The pre-authentication encoding of DSSE: what is signed. Lengths are in bytes, decimal. */
export function preAuthEncoding(payloadType: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}
