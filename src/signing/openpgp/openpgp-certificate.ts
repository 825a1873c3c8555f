import { armored } from '../../formats/openpgp/armor.js';
import { certificate, type CertifiedUser } from '../../formats/openpgp/certificate.js';
import { openPgpFingerprintOf, keyBody } from '../../formats/openpgp/key-packet.js';
import type { ActiveKey } from '../keys/signing-key.reader.js';
import type { RequestedStatement } from './openpgp-statements.repository.js';

/** OpenPgpCertificate represents a key version as an OpenPGP certificate. */
export interface OpenPgpCertificate {
  readonly key: OpenPgpKey;
  /** Fingerprint in uppercase hexadecimal. */
  readonly fingerprint: string;
  /** Expiry of the key according to its newest signed certification; null if it does not expire. */
  readonly expiresAt: Date | null;
  /** The newest statement about each user ID. */
  readonly users: readonly RequestedStatement[];
  /** The newest revocation; undefined if none was requested. */
  readonly revocation: RequestedStatement | undefined;
  /** Undefined until a user ID is certified, because no program accepts a key without a user ID. */
  readonly armored: string | undefined;
}

export type OpenPgpKey = Pick<ActiveKey, 'keyId' | 'name' | 'type' | 'version' | 'publicKey' | 'madeAt'>;

/**
 * Builds the certificate of a key from the key's statements, which are sorted oldest first. Unsigned statements are listed in the result but are not part of
 * the certificate.
 */
export function openPgpCertificate(key: OpenPgpKey, statements: readonly RequestedStatement[]): OpenPgpCertificate {
  const certifications = statements.filter(({ kind }) => kind === 'certification');
  const revocations = statements.filter(({ kind }) => kind === 'revocation');
  const signed = certifications.filter(isSigned);
  const newest = new Map(certifications.map((one) => [one.userId ?? '', one]));
  const users = [...newest.values()];
  const certified = certifiedUsers(signed);
  const packets = revocations.filter(isSigned).map(({ signature }) => signature);
  return {
    key,
    fingerprint: openPgpFingerprintOf(keyBody(key)).toString('hex').toUpperCase(),
    expiresAt: signed.at(-1)?.expiresAt ?? null,
    users,
    revocation: revocations.findLast(isSigned) ?? revocations.at(-1),
    armored: certified.length === 0 ? undefined : armored('PUBLIC KEY BLOCK', certificate(key, packets, certified)),
  };
}

/** Returns each user ID with its newest signature, which supersedes older signatures. */
function certifiedUsers(signed: readonly Signed[]): CertifiedUser[] {
  const newest = new Map(signed.map((one) => [one.userId ?? '', one.signature]));
  return [...newest].map(([userId, signature]) => ({ userId, certifications: [signature] }));
}

type Signed = RequestedStatement & { readonly signature: Buffer };

function isSigned(statement: RequestedStatement): statement is Signed {
  return statement.status === 'SIGNED' && statement.signature !== null;
}
