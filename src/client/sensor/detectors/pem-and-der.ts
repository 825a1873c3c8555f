import type { SensorFinding, FindingPlace } from '../model/finding.js';
import { Base64Window, BufferWindow } from '../model/der.js';
import { privateKeyHere } from '../model/private-key.js';
import { encryptedKeyScheme, privateKeyFacts, traditionalKeyFacts } from './private-key-header.js';
import { type Detector, fileLinesOf } from './detector.js';
import { openSshKey } from './ssh.js';
import { X509Certificate } from 'node:crypto';
import { looksLikePkcs12 } from './pkcs12.js';

const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/g;
const END = '-----END ';
const MAX_BLOCK = 200_000;
const HEADER = /^[\w-]+:.*\r?\n/gm;

/** Certificates and keys in PEM, wherever in a text they stand. */
export const pemDetector: Detector = ({ location, text }) => {
  if (!text.includes('-----BEGIN ')) return [];
  const placeOf = fileLinesOf(text);
  return blocksOf(text).flatMap(({ label, raw, index }) => {
    // In JSON a line ends with the letters \\n.
    const body = raw.replaceAll(/(?:\\r)?\\n/g, '\n');
    try {
      return blockHere(label, body, { location, line: placeOf(index).line });
    } catch {
      return []; // A block that says it is something and is not.
    }
  });
};

interface Block {
  readonly label: string;
  readonly raw: string;
  readonly index: number;
}

/** Answers the blocks between a BEGIN and the next END with the same label. Each part of the text is read once. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let end = 0;
  for (const { 0: begin, 1: label = '', index } of text.matchAll(BEGIN)) {
    const start = index + begin.length;
    if (end < start) end = text.indexOf(END, start);
    if (end === -1) break;
    if (end - start <= MAX_BLOCK && text.startsWith(`${label}-----`, end + END.length))
      blocks.push({ label, raw: text.slice(start, end), index });
  }
  return blocks;
}

function blockHere(label: string, body: string, place: FindingPlace): SensorFinding[] {
  if (/^(?:X509 |TRUSTED )?CERTIFICATE$/.test(label)) return [{ place, certificate: base64(body) }];
  if (label === 'OPENSSH PRIVATE KEY') return openSshKey(base64(body), place);
  if (label === 'ENCRYPTED PRIVATE KEY') {
    const scheme = encryptedKeyScheme(new Base64Window(body));
    return [privateKeyHere({}, { scheme }, place)];
  }
  if (label === 'PRIVATE KEY') return [privateKeyHere(privateKeyFacts(new Base64Window(body)), OPEN, place)];
  if (/^(?:RSA|EC|DSA) PRIVATE KEY$/.test(label)) return traditional(label.split(' ')[0] ?? '', body, place);
  if (label === 'PUBLIC KEY')
    return [{ place, publicKey: `-----BEGIN PUBLIC KEY-----\n${base64(body)}\n-----END PUBLIC KEY-----\n` }];
  return [];
}

const OPEN = { scheme: undefined };

/** Reads an encrypted key: its header names the cipher, its label the kind of key (RFC 1421). */
function traditional(kind: string, body: string, place: FindingPlace): SensorFinding[] {
  const scheme = /^DEK-Info: *([\w-]{1,40})/m.exec(body)?.[1];
  if (scheme === undefined) return [privateKeyHere(traditionalKeyFacts(kind, new Base64Window(body)), OPEN, place)];
  return [privateKeyHere({ algorithm: { name: kind, properties: { primitive: 'signature' } } }, { scheme }, place)];
}

function base64(body: string): string {
  return body.replaceAll(HEADER, '').replaceAll(/\s+/g, '');
}

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
