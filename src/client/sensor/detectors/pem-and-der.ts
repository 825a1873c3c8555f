import type { SensorFinding, FindingPlace } from '../model/finding.js';
import { Base64Window, BufferWindow } from '../model/der.js';
import { type PemBlock, pemBlocks } from '../../../formats/encoding/pem-blocks.js';
import { privateKeyHere } from '../model/private-key.js';
import { encryptedKeyScheme, privateKeyFacts, traditionalKeyFacts } from './private-key-header.js';
import type { Detector } from './detector.js';
import { openSshKey } from './ssh.js';
import { X509Certificate } from 'node:crypto';
import { isPkcs12 } from '../../../formats/pkcs/pkcs12.js';

const MAX_BLOCK = 200_000;

/** Finds PEM certificates and keys anywhere in a text. */
export const pemDetector: Detector = ({ location, text }) => {
  if (!text.includes('-----BEGIN ')) return [];
  return pemBlocks(text).flatMap((block) => {
    const isWhole = block.text.length <= MAX_BLOCK && block.text.endsWith(`-----END ${block.label}-----`);
    try {
      return isWhole ? blockHere(block, { location, line: block.line }) : [];
    } catch {
      return []; // The content does not match the label.
    }
  });
};

function blockHere(block: PemBlock, place: FindingPlace): SensorFinding[] {
  const { label } = block;
  const base64 = block.base64.replaceAll(/\s+/g, '');
  const window = new Base64Window(base64);
  if (/^(?:X509 |TRUSTED )?CERTIFICATE$/.test(label)) return [{ place, certificate: base64 }];
  if (label === 'OPENSSH PRIVATE KEY') return openSshKey(base64, place);
  if (label === 'ENCRYPTED PRIVATE KEY') return [privateKeyHere({}, { scheme: encryptedKeyScheme(window) }, place)];
  if (label === 'PRIVATE KEY') return [privateKeyHere(privateKeyFacts(window), OPEN, place)];
  if (/^(?:RSA|EC|DSA) PRIVATE KEY$/.test(label)) return [traditional(block, window, place)];
  if (label === 'PUBLIC KEY')
    return [{ place, publicKey: `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n` }];
  return [];
}

const OPEN = { scheme: undefined };

/** Reads a key in a traditional format, which may be encrypted. The header names the cipher (RFC 1421), and the label names the key type. */
function traditional({ label, text }: PemBlock, window: Base64Window, place: FindingPlace): SensorFinding {
  const [kind = ''] = label.split(' ');
  const cipher = /^DEK-Info: *([\w-]{1,40})/m.exec(text)?.[1];
  if (cipher === undefined) return privateKeyHere(traditionalKeyFacts(kind, window), OPEN, place);
  const algorithm = { name: kind, properties: { primitive: 'signature' } };
  return privateKeyHere({ algorithm }, { scheme: `PEM ${cipher}` }, place);
}

const MAX_BYTES = 64 * 1024;

/** Finds a certificate or private key in DER. */
export const derFiles: Detector = ({ location, bytes }) => {
  if (bytes[0] !== 0x30 || bytes.length > MAX_BYTES || isPkcs12(bytes)) return [];
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
      // Try the next type.
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
