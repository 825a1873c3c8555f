import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { isSshCertificateType } from './certificate-type.js';
import { oneKeyLine } from './key-line.js';
import { fromBase64 } from '../encoding/base64.js';
import { wireMpint, WireReader, wireString } from './wire.js';
import { bitLength } from '../asn1/der-reader.js';

/** A public key as SSH writes it (RFC 4253 section 6.6). */
export interface SshPublicKey {
  /** The name that stands in the blob itself. */
  readonly type: string;
  readonly blob: Buffer;
}

/** Maps, since types come from outside: `constructor` is none, and is a member of every object. */
const CURVE_BITS = new Map([
  ['nistp256', 256],
  ['nistp384', 384],
  ['nistp521', 521],
]);
/** Strings that follow the name in a blob. */
const PARTS = new Map([
  ['ssh-ed25519', 1],
  ['ssh-rsa', 2],
  ['ssh-dss', 4],
  ['ecdsa-sha2-nistp256', 2],
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
  ['sk-ssh-ed25519@openssh.com', 2],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 3],
]);
/** Types whose parts are numbers (`mpint`, RFC 4251 section 5). */
const NUMBERS = new Set(['ssh-rsa', 'ssh-dss']);
/**
 * What OpenSSH takes in front of a key as well: names of algorithms that sign with such a key (RFC 8332 section 3, PROTOCOL.u2f). A line of
 * authorized_keys that begins with one lets its key in.
 */
const TYPE_OF_ALGORITHM = new Map([
  ['rsa-sha2-256', 'ssh-rsa'],
  ['rsa-sha2-512', 'ssh-rsa'],
  ['webauthn-sk-ecdsa-sha2-nistp256@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com'],
]);
const ED25519_BYTES = 32;
/** Node's names of the curves of RFC 5656 section 10.1. */
const CURVES: Record<string, string> = { prime256v1: 'nistp256', secp384r1: 'nistp384', secp521r1: 'nistp521' };

/**
 * Reads the blob of a line as OpenSSH does: base64 whose inner name is that of `name`, complete if its type is a known one. A key has one blob here,
 * whatever stands in the line: leading zeros of its numbers are left out, as sshd ignores them. Undefined when it is not one, and for certificates.
 *
 * @param name type of the key, or an algorithm of it
 */
export function readBlob(name: string, base64: string): SshPublicKey | undefined {
  const type = TYPE_OF_ALGORITHM.get(name) ?? name;
  const given = base64 === '' || isSshCertificateType(name) ? undefined : fromBase64(base64);
  if (given === undefined) return undefined;
  try {
    const blob = canonical(given, type);
    return blob && { type, blob };
  } catch {
    return undefined;
  }
}

function canonical(blob: Buffer, type: string): Buffer | undefined {
  const reader = new WireReader(blob);
  if (reader.text() !== type) return undefined;
  const count = PARTS.get(type);
  if (count === undefined) return blob;
  const parts = Array.from({ length: count }, () => reader.string());
  if (!reader.done || (type === 'ssh-ed25519' && parts[0]?.length !== ED25519_BYTES)) return undefined;
  if (!NUMBERS.has(type)) return blob;
  const isNegative = parts.some(([first = 0]) => first >= 0x80);
  return isNegative ? undefined : Buffer.concat([wireString(type), ...parts.map(wireMpint)]);
}

/**
 * `TYPE BASE64 [COMMENT]`, as in a .pub file. Undefined when it cannot be read, is more than one line, has a character that no key file may hold, or is
 * a certificate: it lets nobody in from authorized_keys, and a revocation list that names its bytes revokes nothing.
 */
export function readPublicKeyLine(text: string): (SshPublicKey & { readonly comment: string }) | undefined {
  const [type = '', base64 = '', ...comment] = (oneKeyLine(text) ?? '').split(/[ \t]+/);
  const key = readBlob(type, base64);
  return key && { ...key, comment: comment.join(' ') };
}

export function publicKeyLine({ type, blob }: SshPublicKey): string {
  return `${type} ${blob.toString('base64')}`;
}

/** The key that a blob is, by the name in it. @throws RangeError when it has none, and for certificates */
export function publicKeyOfBlob(blob: Buffer): SshPublicKey {
  const type = new WireReader(blob).text();
  if (isSshCertificateType(type)) throw new RangeError('an SSH certificate is not a public key');
  return { type, blob };
}

/** How files begin that people send in place of a line with a public key, and what to do about it. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [
    /^-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/,
    'is a private key, which is now disclosed: generate another one, and send its public key',
  ],
  [
    /^PuTTY-User-Key-File-/,
    'is a private key, which is now disclosed: generate another one, and send the line that PuTTYgen shows',
  ],
  [/^---- BEGIN SSH2 PUBLIC KEY ----/, 'is in the format of RFC 4716: convert it with ssh-keygen -i -f FILE'],
  [/^-----BEGIN PUBLIC KEY-----/, 'is PEM: convert it with ssh-keygen -i -m PKCS8 -f FILE'],
];

/** Why a text is no line with a public key, for the person who sent it. It is not quoted. */
export function publicKeyFault(text: string): string {
  const beginning = text.trimStart();
  const [, advice] = INSTEAD.find(([begins]) => begins.test(beginning)) ?? [];
  if (advice !== undefined) return advice;
  const line = oneKeyLine(text);
  if (line === undefined) return 'must be one line without control characters';
  const [type = ''] = line.split(/[ \t]/, 1);
  return isSshCertificateType(type)
    ? 'is a certificate: send the key that it certifies, or give its serial number'
    : 'is not a public key of the form TYPE BASE64';
}

/** As `ssh-keygen -l` writes it. */
export function sshFingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`;
}

/** Length of the modulus or order in bits; null for a type that is not known. */
export function keyBitsOf({ type, blob }: SshPublicKey): number | null {
  if (type === 'ssh-ed25519' || type.startsWith('sk-')) return 256;
  const reader = new WireReader(blob);
  reader.string();
  if (type === 'ssh-rsa') reader.string(); // the exponent comes first
  if (type === 'ssh-rsa' || type === 'ssh-dss') return bitLength(reader.string());
  return CURVE_BITS.get(type.replace('ecdsa-sha2-', '')) ?? null;
}

/** The SSH form of an Ed25519, RSA or NIST curve key. Throws for any other. */
export function sshPublicKeyOf(key: KeyObject): SshPublicKey {
  const jwk = key.export({ format: 'jwk' });
  const part = (value: string | undefined) => Buffer.from(value ?? '', 'base64url');
  const type = key.asymmetricKeyType;
  if (type === 'ed25519') return assembled('ssh-ed25519', [wireString(part(jwk.x))]);
  if (type === 'rsa') return assembled('ssh-rsa', [wireMpint(part(jwk.e)), wireMpint(part(jwk.n))]);
  const curve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (type === 'ec' && curve !== undefined) {
    const point = Buffer.concat([Buffer.from([4]), part(jwk.x), part(jwk.y)]);
    return assembled(`ecdsa-sha2-${curve}`, [wireString(curve), wireString(point)]);
  }
  throw new Error(`SSH has no form for a key of type ${key.asymmetricKeyType}`);
}

/** The SSH form of a SubjectPublicKeyInfo, DER. */
export function sshPublicKeyOfSpki(spki: Buffer): SshPublicKey {
  return sshPublicKeyOf(createPublicKey({ key: spki, format: 'der', type: 'spki' }));
}

/** SubjectPublicKeyInfo, DER, of a key on the curve P-256. */
export function spkiOf({ type, blob }: SshPublicKey): Buffer {
  if (type !== 'ecdsa-sha2-nistp256') throw new Error(`the HSM generates no SSH keys of type ${type}`);
  const reader = new WireReader(blob);
  reader.string();
  reader.string();
  const point = reader.string();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  return key.export({ format: 'der', type: 'spki' });
}

function assembled(type: string, parts: Buffer[]): SshPublicKey {
  return { type, blob: Buffer.concat([wireString(type), ...parts]) };
}
