import { createHash } from 'node:crypto';
import { wireString, wireUint32, wireUint64 } from '../../platform/ssh/wire.js';

/** What a key revocation list of one authority takes back. */
export interface RevocationContent {
  /** RFC 4253 encoding of the authority's public key. */
  readonly authority: Buffer;
  /** Grows with every revocation. */
  readonly version: bigint;
  readonly generatedAt: Date;
  readonly serials: readonly bigint[];
  readonly keyIds: readonly string[];
  /** Blobs of keys that are refused in every form. */
  readonly keys: readonly Buffer[];
}

const MAGIC = Buffer.from('SSHKRL\n\0', 'latin1');
const FORMAT_VERSION = 1;
const CERTIFICATES = 1;
const FINGERPRINTS_SHA256 = 5;
const SERIALS = 0x20;
const KEY_IDS = 0x23;

/** A key revocation list as sshd's RevokedKeys reads it (OpenSSH's PROTOCOL.krl). */
export function revocationList({ authority, version, generatedAt, ...content }: RevocationContent): Buffer {
  const serials = [...new Set(content.serials)].sort((a, b) => (a < b ? -1 : 1));
  const keyIds = [...new Set(content.keyIds)].sort();
  const hashes = content.keys.map((key) => createHash('sha256').update(key).digest()).sort(Buffer.compare);
  const certificates = Buffer.concat([
    wireString(authority),
    wireString(''),
    ...(serials.length === 0 ? [] : [section(SERIALS, Buffer.concat(serials.map(wireUint64)))]),
    ...(keyIds.length === 0 ? [] : [section(KEY_IDS, Buffer.concat(keyIds.map((keyId) => wireString(keyId))))]),
  ]);
  return Buffer.concat([
    MAGIC,
    wireUint32(FORMAT_VERSION),
    wireUint64(version),
    wireUint64(BigInt(Math.floor(generatedAt.getTime() / 1000))),
    wireUint64(0n),
    wireString(''),
    wireString(''),
    ...(serials.length + keyIds.length === 0 ? [] : [section(CERTIFICATES, certificates)]),
    ...(hashes.length === 0
      ? []
      : [section(FINGERPRINTS_SHA256, Buffer.concat(hashes.map((hash) => wireString(hash))))]),
  ]);
}

function section(type: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), wireString(data)]);
}
