import { oneKeyLine } from '../../platform/ssh/key-line.js';
import { fromBase64 } from '../../platform/encoding/base64.js';
import { fingerprintOf } from '../../platform/ssh/public-key.js';

/** A public key in the encoding of RFC 4253 section 6.6. */
export interface PublicKeyBlob {
  readonly type: string;
  /** Modulus, curve or parameter size; null for types that are not known here. */
  readonly bits: number | null;
  /** `SHA256:` and base64 without padding. */
  readonly fingerprint: string;
  readonly blob: Buffer;
}

const MAX_BYTES = 16 * 1024;
const FIXED_BITS: Record<string, number> = {
  'ssh-ed25519': 256,
  'ssh-ed448': 456,
  'ecdsa-sha2-nistp256': 256,
  'ecdsa-sha2-nistp384': 384,
  'ecdsa-sha2-nistp521': 521,
  'sk-ssh-ed25519@openssh.com': 256,
  'sk-ecdsa-sha2-nistp256@openssh.com': 256,
};

/** Undefined when the bytes are no public key. */
export function readPublicKeyBlob(blob: Buffer): PublicKeyBlob | undefined {
  if (blob.length > MAX_BYTES) return undefined;
  const parts = stringsOf(blob);
  const type = parts?.[0]?.toString('latin1');
  if (parts === undefined || type === undefined || parts.length < 2 || !/^[a-z0-9][a-z0-9@.-]{2,63}$/.test(type))
    return undefined;
  return { type, bits: bitsOf(type, parts), fingerprint: fingerprintOf(blob), blob };
}

/** `ssh-ed25519 AAAA… comment`, as in known_hosts or a .pub file. Undefined when it is none, or more than one line. */
export function readHostKeyLine(text: string): PublicKeyBlob | undefined {
  const [type, base64 = ''] = (oneKeyLine(text) ?? '').split(/[ \t]+/);
  const blob = fromBase64(base64);
  const key = blob && readPublicKeyBlob(blob);
  return key?.type === type ? key : undefined;
}

function bitsOf(type: string, parts: Buffer[]): number | null {
  if (type === 'ssh-rsa') return integerBits(parts[2]);
  if (type === 'ssh-dss') return integerBits(parts[1]);
  return FIXED_BITS[type] ?? null;
}

/** Length of an mpint (RFC 4251 section 5) in bits. */
function integerBits(mpint: Buffer | undefined): number | null {
  if (mpint === undefined) return null;
  const first = mpint.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (mpint.length - first) * 8 - (Math.clz32(mpint[first] as number) - 24);
}

/** Undefined unless the bytes are length-prefixed strings up to the last one. */
function stringsOf(blob: Buffer): Buffer[] | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return undefined;
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return undefined;
    parts.push(blob.subarray(at + 4, end));
    at = end;
  }
  return parts;
}
