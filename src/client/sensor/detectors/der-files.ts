import { X509Certificate } from 'node:crypto';
import { BufferWindow } from '../model/der.js';
import { privateKeyHere } from '../model/private-key.js';
import type { Detector } from './detector.js';
import { looksLikePkcs12 } from './pkcs12.js';
import { encryptedKeyScheme, privateKeyFacts, traditionalKeyFacts } from './private-key-header.js';

const MAX_BYTES = 64 * 1024;

/** A certificate or a private key in DER. */
export const derFiles: Detector = ({ location, bytes }) => {
  if (bytes[0] !== 0x30 || bytes.length > MAX_BYTES || looksLikePkcs12(bytes)) return [];
  const place = { location };
  if (isCertificate(bytes)) return [{ place, certificate: bytes.toString('base64') }];
  const window = new BufferWindow(bytes);
  for (const read of [
    () => privateKeyHere(privateKeyFacts(window), { scheme: undefined }, place),
    () => privateKeyHere({}, { scheme: encryptedKeyScheme(window) }, place),
    () => privateKeyHere(traditionalKeyFacts('RSA', window), { scheme: undefined }, place),
  ]) {
    try {
      return [read()];
    } catch {
      // The next kind.
    }
  }
  return [];
};

function isCertificate(bytes: Buffer): boolean {
  try {
    return new X509Certificate(bytes).raw.length === bytes.length;
  } catch {
    return false;
  }
}
