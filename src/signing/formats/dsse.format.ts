import { createPublicKey, hash } from 'node:crypto';
import { isRsa, type SignatureFormatWriter, type FormatOrder } from './signature-format.js';
import { type DsseEnvelope, IN_TOTO_PAYLOAD, inTotoEnvelope, preAuthEncoding } from '../../formats/encoding/dsse.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { dsseBundle } from './sigstore-bundle.format.js';

/**
 * A single signature of a DSSE envelope, as JSON (secure-systems-lab/dsse, envelope.md), as used by in-toto and SLSA attestations. The digest is the hash of
 * the pre-authentication encoding, which the client composes from the payload and its type.
 */
export const dsse: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-der']),
  toBeSigned: () => undefined,
  assemble: (_order, _toBeSigned, { signature }) => Buffer.from(JSON.stringify({ sig: signature.toString('base64') })),
};

/**
 * An in-toto statement in a DSSE envelope, in a Sigstore bundle v0.3. The service composes the statement, so callers cannot choose this format: a key that is
 * restricted to this format does not sign caller-defined content.
 */
export const attestation: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-der']),
  toBeSigned: (order) => preAuthEncoding(IN_TOTO_PAYLOAD, statementOf(order)),
  record: dsseRecord,
  assemble: (order, _toBeSigned, made) => dsseBundle(order, envelopeOf(order, made.signature), made.timestampToken),
};

function envelopeOf(order: FormatOrder, signature: Buffer): DsseEnvelope {
  return inTotoEnvelope(statementOf(order), { sig: signature.toString('base64') });
}

function statementOf({ content }: FormatOrder): Buffer {
  if (content === undefined) throw new Error('the attestation has no statement');
  return content;
}

/** Returns the record of the signature in the format of Rekor's `dsse` 0.0.1, as canonical JSON. */
function dsseRecord(order: FormatOrder, signature: Buffer): string {
  const key = createPublicKey({ key: order.publicKey, format: 'der', type: 'spki' });
  const verifier = Buffer.from(key.export({ format: 'pem', type: 'spki' }).toString()).toString('base64');
  const envelope = canonicalJson(envelopeOf(order, signature));
  return canonicalJson({
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: {
      envelopeHash: { algorithm: 'sha256', value: hash('sha256', envelope, 'hex') },
      payloadHash: { algorithm: 'sha256', value: hash('sha256', statementOf(order), 'hex') },
      signatures: [{ signature: signature.toString('base64'), verifier }],
    },
  });
}
