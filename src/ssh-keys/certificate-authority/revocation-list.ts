import { createHash } from 'node:crypto';
import { wireString, wireUint32, wireUint64 } from '../../formats/ssh/wire.js';

/** RevokedCertificates lists the revoked certificates of one authority. */
export interface RevokedCertificates {
  /** Public key of the authority in the encoding of RFC 4253 section 6.6. */
  readonly authority: Buffer;
  readonly serials: readonly bigint[];
  readonly keyIds: readonly string[];
}

/** RevocationContent contains the entries of a key revocation list. */
export interface RevocationContent {
  /** Version of the list, which increases with every revocation. */
  readonly version: bigint;
  readonly generatedAt: Date;
  readonly certificates: readonly RevokedCertificates[];
  /** Blobs of keys that are rejected in every form, including in certificates. */
  readonly keys: readonly Buffer[];
}

const MAGIC = Buffer.from('SSHKRL\n\0', 'latin1');
const FORMAT_VERSION = 1;
const CERTIFICATES = 1;
const FINGERPRINTS_SHA256 = 5;
const SERIALS = 0x20;
const KEY_IDS = 0x23;

/** Encodes a key revocation list for RevokedKeys of sshd (OpenSSH's PROTOCOL.krl). */
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

/** Returns the version of a list that the service wrote. */
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
