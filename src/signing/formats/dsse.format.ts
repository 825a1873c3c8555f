import { createHash } from 'node:crypto';
import { isRsa, type SignatureFormatWriter } from './signature-format.js';

/**
 * One signature of a DSSE envelope, as JSON (secure-systems-lab/dsse, envelope.md): what in-toto and SLSA attestations are signed by. The
 * digest is that of the pre-authentication encoding, which the client composed of the payload and its type. The key is named by the SHA-256
 * of its SubjectPublicKeyInfo, base64, as in Sigstore bundles.
 */
export const dsse: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-der']),
  toBeSigned: () => undefined,
  assemble({ publicKey }, _toBeSigned, { signature }) {
    const keyid = createHash('sha256').update(publicKey).digest('base64');
    return Buffer.from(JSON.stringify({ keyid, sig: signature.toString('base64') }));
  },
};
