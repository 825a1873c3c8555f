import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { isSshCertificateType } from './certificate-type.js';
import { oneKeyLine } from './key-line.js';
import { fromBase64 } from '../encoding/base64.js';
import { wireMpint, WireReader, wireString } from './wire.js';
import { bitLength } from '../asn1/der-reader.js';

/** SshPublicKey is a public key in SSH encoding (RFC 4253 section 6.6). */
export interface SshPublicKey {
  /** Key type from the blob itself. */
  readonly type: string;
  readonly blob: Buffer;
}

/** Maps instead of objects, because type names are untrusted and every object has a member `constructor`. */
const CURVE_BITS = new Map([
  ['nistp256', 256],
  ['nistp384', 384],
  ['nistp521', 521],
]);
/** Number of strings after the name in a blob. */
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
/** Types whose parts are integers (`mpint`, RFC 4251 section 5). */
const NUMBERS = new Set(['ssh-rsa', 'ssh-dss']);
/**
 * Algorithm names that OpenSSH also accepts as the type in a key line (RFC 8332 section 3, PROTOCOL.u2f). An authorized_keys line with one of these names
 * authorizes the key.
 */
const TYPE_OF_ALGORITHM = new Map([
  ['rsa-sha2-256', 'ssh-rsa'],
  ['rsa-sha2-512', 'ssh-rsa'],
  ['webauthn-sk-ecdsa-sha2-nistp256@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com'],
]);
const ED25519_BYTES = 32;
/** Node's names of the curves in RFC 5656 section 10.1. */
const CURVES: Record<string, string> = { prime256v1: 'nistp256', secp384r1: 'nistp384', secp521r1: 'nistp521' };

/**
 * Decodes the base64 blob of a key line as OpenSSH does. The type in the blob must match `name`, and the blob of a known type must be complete. The returned
 * blob is canonical: leading zeros of integers, which sshd ignores, are removed. Undefined for anything else, including certificates.
 *
 * @param name type of the key, or one of its algorithms
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
 * Parses `TYPE BASE64 [COMMENT]`, as in a .pub file. Undefined if the text is malformed, has more than one line, or contains a character not allowed in a key
 * file. Also undefined for a certificate; see `isSshCertificateType`.
 */
export function readPublicKeyLine(text: string): (SshPublicKey & { readonly comment: string }) | undefined {
  const [type = '', base64 = '', ...comment] = (oneKeyLine(text) ?? '').split(/[ \t]+/);
  const key = readBlob(type, base64);
  return key && { ...key, comment: comment.join(' ') };
}

export function publicKeyLine({ type, blob }: SshPublicKey): string {
  return `${type} ${blob.toString('base64')}`;
}

/**
 * Returns the key in a blob, with the type named in it.
 *
 * @throws RangeError if the blob does not contain a type, or if it contains a certificate
 */
export function publicKeyOfBlob(blob: Buffer): SshPublicKey {
  const type = new WireReader(blob).text();
  if (isSshCertificateType(type)) throw new RangeError('an SSH certificate is not a public key');
  return { type, blob };
}

/** Patterns that match the start of files which users send by mistake instead of a public key line, each with advice. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [
    /^-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/,
    'is a private key, which must now be considered compromised: generate a new key pair and send the public key',
  ],
  [
    /^PuTTY-User-Key-File-/,
    'is a private key, which must now be considered compromised: generate a new key pair and send the line that PuTTYgen shows',
  ],
  [/^---- BEGIN SSH2 PUBLIC KEY ----/, 'is in RFC 4716 format: convert it with ssh-keygen -i -f FILE'],
  [/^-----BEGIN PUBLIC KEY-----/, 'is PEM: convert it with ssh-keygen -i -m PKCS8 -f FILE'],
];

/** Explains to the sender why a text is not a public key line. The text is not quoted. */
export function publicKeyFault(text: string): string {
  const beginning = text.trimStart();
  const [, advice] = INSTEAD.find(([begins]) => begins.test(beginning)) ?? [];
  if (advice !== undefined) return advice;
  const line = oneKeyLine(text);
  if (line === undefined) return 'must be a single line without control characters';
  const [type = ''] = line.split(/[ \t]/, 1);
  return isSshCertificateType(type)
    ? 'is a certificate: send the certified key, or the serial number of the certificate'
    : 'must be a public key in the form TYPE BASE64';
}

/** Returns the fingerprint in the format of `ssh-keygen -l`. */
export function sshFingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`;
}

/** Returns the length of the modulus or order in bits. Null for an unknown type. */
export function keyBitsOf({ type, blob }: SshPublicKey): number | null {
  if (type === 'ssh-ed25519' || type.startsWith('sk-')) return 256;
  const reader = new WireReader(blob);
  reader.string();
  if (type === 'ssh-rsa') reader.string(); // Skips the exponent, which comes first.
  if (type === 'ssh-rsa' || type === 'ssh-dss') return bitLength(reader.string());
  return CURVE_BITS.get(type.replace('ecdsa-sha2-', '')) ?? null;
}

/** Returns the SSH encoding of an Ed25519, RSA or NIST curve key. Throws for any other key. */
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
  throw new Error(`SSH does not support keys of type ${key.asymmetricKeyType}`);
}

/** Returns the SSH encoding of the key in a DER-encoded SubjectPublicKeyInfo. */
export function sshPublicKeyOfSpki(spki: Buffer): SshPublicKey {
  return sshPublicKeyOf(createPublicKey({ key: spki, format: 'der', type: 'spki' }));
}

/** Returns the DER-encoded SubjectPublicKeyInfo of a P-256 key. Throws for any other key. */
export function spkiOf({ type, blob }: SshPublicKey): Buffer {
  if (type !== 'ecdsa-sha2-nistp256') throw new Error(`the HSM cannot generate SSH keys of type ${type}`);
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
