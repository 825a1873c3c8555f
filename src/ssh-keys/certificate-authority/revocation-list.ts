import { createHash } from 'node:crypto';
import { wireString, wireUint32, wireUint64 } from '../../formats/ssh/wire.js';

/** Certificates of one authority that are refused. */
export interface RevokedCertificates {
  /** RFC 4253 encoding of the authority's public key. */
  readonly authority: Buffer;
  readonly serials: readonly bigint[];
  readonly keyIds: readonly string[];
}

/** The entries of a key revocation list. */
export interface RevocationContent {
  /** Grows with every revocation. */
  readonly version: bigint;
  readonly generatedAt: Date;
  readonly certificates: readonly RevokedCertificates[];
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
export function revocationList({ version, generatedAt, certificates, keys }: RevocationContent): Buffer {
  const hashes = keys.map((key) => createHash('sha256').update(key).digest()).sort(Buffer.compare);
  return Buffer.concat([
    MAGIC,
    wireUint32(FORMAT_VERSION),
    wireUint64(version),
    wireUint64(BigInt(Math.floor(generatedAt.getTime() / 1000))),
    wireUint64(0n),
    wireString(''),
    wireString(''),
    ...certificates.flatMap(certificateSection),
    ...(hashes.length === 0
      ? []
      : [section(FINGERPRINTS_SHA256, Buffer.concat(hashes.map((hash) => wireString(hash))))]),
  ]);
}

/** Reads the version of a list that this service has written. */
export function versionOfList(list: Buffer): bigint {
  return list.readBigUInt64BE(MAGIC.length + 4);
}

function certificateSection({ authority, ...revoked }: RevokedCertificates): Buffer[] {
  const serials = [...new Set(revoked.serials)].sort((a, b) => (a < b ? -1 : 1));
  const keyIds = [...new Set(revoked.keyIds)].sort();
  if (serials.length + keyIds.length === 0) return [];
  const parts = [
    wireString(authority),
    wireString(''),
    ...(serials.length === 0 ? [] : [section(SERIALS, Buffer.concat(serials.map(wireUint64)))]),
    ...(keyIds.length === 0 ? [] : [section(KEY_IDS, Buffer.concat(keyIds.map((keyId) => wireString(keyId))))]),
  ];
  return [section(CERTIFICATES, Buffer.concat(parts))];
}

function section(type: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), wireString(data)]);
}
