import { createPublicKey } from 'node:crypto';
import type { DigestAlgorithm, KeyType, SignatureScheme } from '../../hsm/key-vault.js';

/** Types of key that an authority can have. */
export const AUTHORITY_KEY_TYPES = ['ec-p256', 'ec-p384', 'rsa-3072', 'rsa-4096'] as const satisfies KeyType[];
export type AuthorityKeyType = (typeof AUTHORITY_KEY_TYPES)[number];

/** How a key signs certificates: for the HSM, and as SSH names it. */
interface AuthoritySigning {
  readonly type: AuthorityKeyType;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** RFC 5656 section 3.1.1, RFC 8332 section 3. */
  readonly name: string;
}

/** sshd accepts no SHA-1 signatures of authorities, so RSA keys sign by rsa-sha2-512. */
const RSA = { scheme: 'rsa-pkcs1v15', algorithm: 'sha512', name: 'rsa-sha2-512' } as const;
const HOW: Readonly<Record<AuthorityKeyType, Omit<AuthoritySigning, 'type'>>> = {
  'ec-p256': { scheme: 'ecdsa-raw', algorithm: 'sha256', name: 'ecdsa-sha2-nistp256' },
  'ec-p384': { scheme: 'ecdsa-raw', algorithm: 'sha384', name: 'ecdsa-sha2-nistp384' },
  'rsa-3072': RSA,
  'rsa-4096': RSA,
};
const CURVES: Readonly<Record<string, AuthorityKeyType>> = { prime256v1: 'ec-p256', secp384r1: 'ec-p384' };

/** How the key of an authority signs. `spki`: SubjectPublicKeyInfo, DER. */
export function signingOf(spki: Buffer): AuthoritySigning {
  const { asymmetricKeyDetails } = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails ?? {};
  const type = CURVES[namedCurve] ?? AUTHORITY_KEY_TYPES.find((one) => one === `rsa-${modulusLength}`);
  if (type === undefined) throw new Error('no authority has a key of this type');
  return { type, ...HOW[type] };
}
