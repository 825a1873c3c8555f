import { createHash } from 'node:crypto';
import {
  openPgpFingerprintOf,
  hashedKey,
  keyBody,
  fourOctets,
  pgpAlgorithmOf,
  type PgpPublicKey,
  pgpSeconds,
} from './key-packet.js';
import { PGP_TAG, pgpPacket } from './packets.js';
import {
  issuerSubpacket,
  PGP_HASH,
  PGP_SIGNATURE,
  type PgpHash,
  subpacket,
  trailerOf,
  writeHashedPart,
} from './signature-packet.js';
import { PGP_SUBPACKET } from './signatures.js';

/** Key flags for certifying and signing (RFC 9580 section 5.2.3.29). */
const CERTIFIES_AND_SIGNS = 0x03;
const USER_ID_MARK = 0xb4;

/** REVOCATION_REASONS maps reasons for revocation to their codes (RFC 9580 section 5.2.3.31). */
export const REVOCATION_REASONS = { unspecified: 0, superseded: 1, compromised: 2, retired: 3 } as const;
export type RevocationReason = keyof typeof REVOCATION_REASONS;

/** SelfStatement is a self-signature before signing: the hashed part, and the digest to sign. */
export interface SelfStatement {
  readonly hashedPart: Buffer;
  readonly digest: Buffer;
}

interface Certification {
  readonly userId: string;
  readonly at: Date;
  /** Expiration time of the key. Undefined if the key does not expire. */
  readonly expiresAt?: Date;
  /** Whether this is the primary user ID, which programs show if they show only one. */
  readonly primary: boolean;
  readonly hash: PgpHash;
}

/** Returns the self-signature that binds a user ID, the key flags and the expiration time to a key (RFC 9580 section 5.2.3.10). */
export function certificationOf(key: PgpPublicKey, order: Certification): SelfStatement {
  const { userId, at, expiresAt, primary, hash } = order;
  const lifetime = expiresAt === undefined ? undefined : pgpSeconds(expiresAt) - pgpSeconds(key.madeAt);
  const id = Buffer.from(userId);
  return statementOf(key, { type: PGP_SIGNATURE.certification, hash, at }, [Buffer.from([USER_ID_MARK]), fourOctets(id.length), id], [
    subpacket(PGP_SUBPACKET.keyFlags, Buffer.from([CERTIFIES_AND_SIGNS]), true),
    subpacket(PGP_SUBPACKET.preferredHashes, Buffer.from([PGP_HASH.sha512, PGP_HASH.sha384, PGP_HASH.sha256])),
    ...(lifetime === undefined ? [] : [subpacket(PGP_SUBPACKET.keyExpiry, lifetime, true)]),
    ...(primary ? [subpacket(PGP_SUBPACKET.primaryUserId, Buffer.from([1]))] : []),
  ]); // prettier-ignore
}

interface Revocation {
  readonly at: Date;
  readonly reason: RevocationReason;
  /** Explanation by the revoking user. The explanation is public. */
  readonly text: string;
  readonly hash: PgpHash;
}

/** Returns the signature that revokes a key (RFC 9580 section 5.2.1.11). */
export function revocationOf(key: PgpPublicKey, { at, reason, text, hash }: Revocation): SelfStatement {
  const why = Buffer.concat([Buffer.from([REVOCATION_REASONS[reason]]), Buffer.from(text)]);
  return statementOf(key, { type: PGP_SIGNATURE.keyRevocation, hash, at }, [], [subpacket(PGP_SUBPACKET.reason, why)]);
}

function statementOf(
  key: PgpPublicKey,
  { type, hash, at }: { type: number; hash: PgpHash; at: Date },
  about: readonly Buffer[],
  more: readonly ReturnType<typeof subpacket>[],
): SelfStatement {
  const body = keyBody(key);
  const subpackets = [
    subpacket(PGP_SUBPACKET.created, pgpSeconds(at), true),
    issuerSubpacket(openPgpFingerprintOf(body)),
    ...more,
  ];
  const hashedPart = writeHashedPart({ type, algorithm: pgpAlgorithmOf(key.publicKey), hash, subpackets });
  const digest = createHash(hash);
  for (const part of [hashedKey(body), ...about, trailerOf(hashedPart)]) digest.update(part);
  return { hashedPart, digest: digest.digest() };
}

export interface CertifiedUser {
  readonly userId: string;
  /** Complete signature packets. */
  readonly certifications: readonly Buffer[];
}

/** Returns a certificate (RFC 9580 section 10.1.1): the key, its revocations, and each user ID with the signatures that bind it. */
export function certificate(
  key: PgpPublicKey,
  revocations: readonly Buffer[],
  users: readonly CertifiedUser[],
): Buffer {
  const named = users.flatMap(({ userId, certifications }) => [
    pgpPacket({ tag: PGP_TAG.userId, body: Buffer.from(userId) }),
    ...certifications,
  ]);
  return Buffer.concat([pgpPacket({ tag: PGP_TAG.publicKey, body: keyBody(key) }), ...revocations, ...named]);
}
