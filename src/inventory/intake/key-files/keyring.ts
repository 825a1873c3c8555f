import { truncateBytes } from '../../../platform/text/truncate.js';
import { createHash } from 'node:crypto';
import type { PublicKeyAlgorithm } from '../../judgement/vocabularies/public-key-algorithm.js';
import { isKnownAlgorithm, pgpAlgorithm, PgpFields } from './key-material.js';
import { openPgpFingerprintOf as laterFingerprint } from '../../../formats/openpgp/key-packet.js';
import { PGP_TAG as TAG, pgpPackets, type PgpPacket } from '../../../formats/openpgp/packets.js';
import { type PgpSignature, pgpSignature } from '../../../formats/openpgp/signatures.js';

/** MAX_USER_ID_BYTES is the maximum size of a user ID. */
const MAX_USER_ID_BYTES = 300;

/** PgpKey is a key in a keyring, as described by its packets. */
export interface PgpKey {
  /** Fingerprint in lowercase hexadecimal. */
  readonly fingerprint: string;
  readonly keyId: string;
  readonly version: number;
  readonly algorithm: PublicKeyAlgorithm;
  readonly isSubkey: boolean;
  /** First user ID of the primary key; undefined if the primary key has no user ID. */
  readonly userId: string | undefined;
  readonly created: Date;
  /** Expiration time in the newest self-signature that contains one; undefined if the key does not expire. */
  readonly expires: Date | undefined;
  readonly revoked: 'compromised' | 'deactivated' | undefined;
  /**
   * Undefined if the keyring does not contain the secret key. `securedBy` is the name of the scheme that protects the secret key; undefined if the key is
   * unprotected.
   */
  readonly secret: { readonly securedBy: string | undefined } | undefined;
}

const KEYS = new Set<number>([TAG.secretKey, TAG.publicKey, TAG.secretSubkey, TAG.subkey]);
const REVOCATIONS = new Set([0x20, 0x28]);
/** Types of self-signatures: user ID certifications, subkey bindings and direct-key signatures. */
const SELF_SIGNATURES = new Set([0x10, 0x11, 0x12, 0x13, 0x18, 0x1f]);
const MAX_KEYS = 100_000;
/** Reason for revocation: key material has been compromised (RFC 9580 section 5.2.3.31). */
const COMPROMISED = 2;
const ENCRYPTS = 0x0c;

interface Draft {
  readonly packet: PacketKey;
  readonly isSubkey: boolean;
  readonly primary: Draft | undefined;
  userId: string | undefined;
  readonly signatures: PgpSignature[];
}

/** isPgpKeyring recognizes the start of a keyring: a public or secret primary key with a valid version and length. */
export function isPgpKeyring(bytes: Buffer): boolean {
  try {
    const [first] = pgpPackets(bytes.subarray(0, MAX_LOOK));
    return first !== undefined && isPrimary(first) && keyOf(first) !== undefined;
  } catch {
    return false;
  }
}

const MAX_LOOK = 64 * 1024;

/**
 * readPgpKeyring returns the keys of a binary keyring. Unreadable packets are skipped, and secret key material is not read.
 *
 * @throws RangeError if the keyring contains no key
 */
export function readPgpKeyring(bytes: Buffer): { keys: PgpKey[]; unread: number } {
  const drafts: Draft[] = [];
  let unread = 0;
  try {
    for (const packet of pgpPackets(bytes)) if (!addPacket(packet, drafts)) unread += 1;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    unread += 1;
  }
  if (drafts.length === 0) throw new RangeError('not an OpenPGP key');
  return { keys: finished(drafts), unread };
}

/** Adds a packet to the drafts. Returns false for a key that cannot be read. */
function addPacket(packet: PgpPacket, drafts: Draft[]): boolean {
  const current = drafts.at(-1);
  const primary = current?.primary ?? current;
  if (packet.tag === TAG.userId && primary !== undefined) primary.userId ??= userIdIn(packet);
  if (packet.tag === TAG.signature && current !== undefined) addSignature(current, packet);
  if (!KEYS.has(packet.tag)) return true;
  const key = drafts.length < MAX_KEYS ? keyOf(packet) : undefined;
  if (key === undefined) return false;
  const isSubkey = !isPrimary(packet);
  drafts.push({ packet: key, isSubkey, primary: isSubkey ? primary : undefined, userId: undefined, signatures: [] });
  return true;
}

function isPrimary({ tag }: PgpPacket): boolean {
  return tag === TAG.publicKey || tag === TAG.secretKey;
}

function userIdIn({ body }: PgpPacket): string {
  return truncateBytes(body.toString('utf8').replaceAll('\u0000', ''), MAX_USER_ID_BYTES);
}

function addSignature({ signatures }: Draft, { body }: PgpPacket): void {
  try {
    const signature = pgpSignature(body);
    if (signature !== undefined) signatures.push(signature);
  } catch {
    // A truncated signature is ignored.
  }
}

/**
 * Facts in the signatures on a key. Only signatures by the primary key are used. A signature without an issuer is treated as a signature by the primary key.
 */
interface Statements {
  readonly expires: Date | undefined;
  readonly revoked: PgpKey['revoked'];
  readonly flags: number | undefined;
}

function statementsOf({ packet, signatures }: Draft, keyId: string): Statements {
  const own = signatures.filter(({ issuer }) => issuer === undefined || issuer === keyId);
  const revocation = own.find(({ type }) => REVOCATIONS.has(type));
  const newest = own.filter(({ type }) => SELF_SIGNATURES.has(type)).reduce<PgpSignature | undefined>(newer, undefined);
  const seconds = packet.validSeconds ?? newest?.keyExpiry ?? 0;
  return {
    expires: seconds === 0 ? undefined : new Date((packet.created + seconds) * 1000),
    revoked: revocation === undefined ? undefined : revocation.reason === COMPROMISED ? 'compromised' : 'deactivated',
    flags: newest?.keyFlags,
  };
}

function newer(newest: PgpSignature | undefined, signature: PgpSignature): PgpSignature {
  return newest === undefined || signature.created > newest.created ? signature : newest;
}

/** Returns the keys with the facts in their signatures. A subkey expires no later than its primary key. */
function finished(drafts: readonly Draft[]): PgpKey[] {
  const known = new Map<Draft, Statements>();
  return drafts.map((draft) => {
    const { packet, isSubkey } = draft;
    const primary = draft.primary ?? draft;
    const own = statementsOf(draft, primary.packet.keyId);
    known.set(draft, own);
    const above = known.get(primary) ?? own;
    const ends = [own.expires, above.expires].filter((end) => end !== undefined).map(Number);
    return {
      fingerprint: packet.fingerprint,
      keyId: packet.keyId,
      version: packet.version,
      algorithm: usedFor(packet.algorithm, own.flags),
      isSubkey,
      userId: primary.userId,
      created: new Date(packet.created * 1000),
      expires: ends.length === 0 ? undefined : new Date(Math.min(...ends)),
      revoked: above.revoked ?? own.revoked,
      secret: packet.secret,
    };
  });
}

/**
 * Returns the algorithm with its primitive. An RSA key that may encrypt is listed as an encryption key, even if the key has other uses, because encrypted
 * data can be decrypted later.
 */
function usedFor(algorithm: PublicKeyAlgorithm, flags: number | undefined): PublicKeyAlgorithm {
  const encrypts = flags !== undefined && (flags & ENCRYPTS) !== 0;
  if (!encrypts || !algorithm.name.startsWith('RSA')) return algorithm;
  return { ...algorithm, properties: { ...algorithm.properties, primitive: 'pke' } };
}

interface PacketKey {
  readonly version: number;
  /** Unix time in seconds. */
  readonly created: number;
  /** Validity period in the packet. Present only in version 3. */
  readonly validSeconds: number | undefined;
  readonly algorithm: PublicKeyAlgorithm;
  readonly fingerprint: string;
  readonly keyId: string;
  readonly secret: PgpKey['secret'];
}

/** Parses a key packet. Returns undefined for an unsupported version or a truncated packet. */
function keyOf({ tag, body }: PgpPacket): PacketKey | undefined {
  try {
    const version = body.readUInt8(0);
    if (version < 2 || version > 6) return undefined;
    const isOld = version < 4;
    const algorithmAt = isOld ? 7 : 5;
    const id = body.readUInt8(algorithmAt);
    // Version 5 and 6 packets contain the length of the public key material.
    const start = algorithmAt + 1 + (version >= 5 ? 4 : 0);
    const fields = new PgpFields(body, start);
    const algorithm = pgpAlgorithm(id, fields);
    const isSecret = tag === TAG.secretKey || tag === TAG.secretSubkey;
    const end =
      version >= 5 ? start + body.readUInt32BE(algorithmAt + 1) : isKnownAlgorithm(id) ? fields.at : body.length;
    if (end > body.length) return undefined;
    const fingerprint = fingerprintOf(version, body.subarray(0, end), start);
    return {
      version,
      created: body.readUInt32BE(1),
      validSeconds: isOld ? body.readUInt16BE(5) * 86_400 : undefined,
      algorithm,
      fingerprint,
      keyId: keyIdOf(version, body.subarray(start, end), fingerprint),
      secret: isSecret ? protection(body.subarray(end), version) : undefined,
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the fingerprint as defined by RFC 4880 section 12.2 for version 3, and by RFC 9580 section 5.5.4 for later versions. */
function fingerprintOf(version: number, half: Buffer, start: number): string {
  if (version < 4) {
    const hash = createHash('md5');
    for (const number of mpisIn(half.subarray(start))) hash.update(number);
    return hash.digest('hex');
  }
  return laterFingerprint(half, version).toString('hex');
}

/** Returns the key ID: the end of the modulus in version 3, the end of the fingerprint in version 4, and the start of the fingerprint in later versions. */
function keyIdOf(version: number, material: Buffer, fingerprint: string): string {
  if (version >= 5) return fingerprint.slice(0, 16);
  if (version === 4) return fingerprint.slice(-16);
  const [modulus] = mpisIn(material);
  return (modulus ?? Buffer.alloc(0)).subarray(-8).toString('hex');
}

function mpisIn(bytes: Buffer): Buffer[] {
  const all: Buffer[] = [];
  for (let at = 0; at + 2 <= bytes.length && all.length < 2;) {
    const length = Math.ceil(bytes.readUInt16BE(at) / 8);
    all.push(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return all;
}

const CIPHERS: Readonly<Record<number, string>> = {
  1: 'IDEA',
  2: '3DES',
  3: 'CAST5',
  4: 'Blowfish',
  7: 'AES-128',
  8: 'AES-192',
  9: 'AES-256',
  10: 'Twofish',
  11: 'Camellia-128',
  12: 'Camellia-192',
  13: 'Camellia-256',
};
const GNU_STUB = 101;

/** Returns the protection of a secret key (RFC 9580 section 3.7.2). Returns undefined for a GnuPG stub, whose secret key is stored elsewhere. */
function protection(rest: Buffer, version: number): PgpKey['secret'] {
  const usage = rest[0] ?? 0;
  if (usage === 0) return { securedBy: undefined };
  const at = version >= 5 ? 2 : 1;
  const hasS2k = usage >= 253;
  const cipher = hasS2k ? (rest[at] ?? 0) : usage;
  const s2k = hasS2k ? rest.subarray(at + 1 + (usage === 253 ? 1 : 0) + (version === 6 ? 1 : 0)) : Buffer.alloc(0);
  if (s2k[0] === GNU_STUB) return undefined;
  return { securedBy: `OpenPGP ${CIPHERS[cipher] ?? `cipher ${cipher}`}` };
}

const MAGIC = 'KBXf';
const OPENPGP = 2;
const X509 = 3;
const MIN_HEAD = 20;

/** isKeybox recognizes a GnuPG keybox (`pubring.kbx`) by the magic string in the header blob. */
export function isKeybox(bytes: Buffer): boolean {
  return bytes.length >= 32 && bytes.toString('latin1', 8, 12) === MAGIC;
}

/** readKeybox returns the keyrings and certificates (DER) of a keybox. @throws RangeError if the keybox is truncated */
export function readKeybox(bytes: Buffer): { readonly keyrings: Buffer[]; readonly certificates: Buffer[] } {
  const [keyrings, certificates]: [Buffer[], Buffer[]] = [[], []];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    if (length < 5 || at + length > bytes.length) throw new RangeError('the keybox is truncated');
    const type = bytes.readUInt8(at + 4);
    if ((type === OPENPGP || type === X509) && length >= MIN_HEAD) {
      const start = at + bytes.readUInt32BE(at + 8);
      const end = start + bytes.readUInt32BE(at + 12);
      if (end > at + length) throw new RangeError('the keybox is truncated');
      (type === OPENPGP ? keyrings : certificates).push(bytes.subarray(start, end));
    }
    at += length;
  }
  return { keyrings, certificates };
}
