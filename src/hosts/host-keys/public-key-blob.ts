import { isSshCertificateType } from '../../formats/ssh/certificate-type.js';
import { oneKeyLine } from '../../formats/ssh/key-line.js';
import { WireReader } from '../../formats/ssh/wire.js';
import { bitLength } from '../../formats/asn1/der-reader.js';
import { Problem } from '../../platform/errors/problem.js';
import { sshFingerprintOf, readBlob } from '../../formats/ssh/public-key.js';

/** PublicKeyBlob is a public key in the encoding of RFC 4253 section 6.6. */
export interface PublicKeyBlob {
  readonly type: string;
  /** Size of the modulus, curve or parameters in bits. Null for unknown types. */
  readonly bits: number | null;
  /** `SHA256:` followed by base64 without padding. */
  readonly fingerprint: string;
  readonly blob: Buffer;
}

const MAX_BYTES = 16 * 1024;
const FIXED_BITS = new Map([
  ['ssh-ed25519', 256],
  ['ssh-ed448', 456],
  ['ecdsa-sha2-nistp256', 256],
  ['ecdsa-sha2-nistp384', 384],
  ['ecdsa-sha2-nistp521', 521],
  ['sk-ssh-ed25519@openssh.com', 256],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 256],
]);

/** Parses a public key. Returns undefined for other bytes, including certificates. */
export function readPublicKeyBlob(blob: Buffer): PublicKeyBlob | undefined {
  if (blob.length > MAX_BYTES) return undefined;
  const parts = stringsOf(blob);
  const type = parts?.[0]?.toString('latin1');
  if (type !== undefined && isSshCertificateType(type)) return undefined;
  if (parts === undefined || type === undefined || parts.length < 2 || !/^[a-z0-9][a-z0-9@.-]{2,63}$/.test(type))
    return undefined;
  return { type, bits: bitsOf(type, parts), fingerprint: sshFingerprintOf(blob), blob };
}

/** Parses `ssh-ed25519 AAAA… comment`, as in known_hosts or a .pub file. Returns undefined for other text or more than one line. */
export function readHostKeyLine(text: string): PublicKeyBlob | undefined {
  const [type = '', base64 = ''] = (oneKeyLine(text) ?? '').split(/[ \t]+/);
  const key = readBlob(type, base64);
  return key && readPublicKeyBlob(key.blob);
}

/** Returns the Problem for a line that is not a host key. The detail describes what the line contains instead. */
export function unreadableHostKey(line: string): Problem {
  const pointer = '/publicKey';
  const [type = ''] = (oneKeyLine(line) ?? '').split(/[ \t]/, 1);
  const detail = isSshCertificateType(type)
    ? 'is a certificate of an unknown type or with an invalid signature: send the certified key itself'
    : 'must be a line like ssh-ed25519 AAAA…';
  return new Problem('malformed', 'host-key.unreadable', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function bitsOf(type: string, parts: Buffer[]): number | null {
  if (type === 'ssh-rsa') return bitsOfPart(parts[2]);
  if (type === 'ssh-dss') return bitsOfPart(parts[1]);
  return FIXED_BITS.get(type) ?? null;
}

function bitsOfPart(mpint: Buffer | undefined): number | null {
  return mpint === undefined ? null : bitLength(mpint);
}

/** Returns the length-prefixed strings of the blob, or undefined if the blob contains anything else. */
function stringsOf(blob: Buffer): Buffer[] | undefined {
  const reader = new WireReader(blob);
  const parts: Buffer[] = [];
  try {
    while (!reader.done) parts.push(reader.string());
    return parts;
  } catch {
    return undefined;
  }
}
