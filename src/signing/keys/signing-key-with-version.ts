import type { KeyEvidence, KeyType } from '../../hsm/key-vault.js';
import type { KeyConstraints } from './key-constraints.js';
import type { KeyPurpose, SigningKeyState } from './signing-key.entity.js';

/** A key with one of its versions: the active version, unless another version was requested. */
export interface SigningKeyWithVersion {
  readonly keyId: string;
  readonly name: string;
  readonly type: KeyType;
  readonly purpose: KeyPurpose;
  readonly state: SigningKeyState;
  readonly notBefore: Date | null;
  readonly notAfter: Date | null;
  readonly constraints: KeyConstraints;
  readonly revision: number;
  readonly version: number;
  readonly createdAt: Date;
  /** Time at which this version was requested. This time never changes, because the OpenPGP fingerprint covers it. */
  readonly madeAt: Date;
  /** Time at which the private keys are due to be destroyed; null if no destruction is scheduled. */
  readonly destroyAt: Date | null;
  /** Time at which the last private key was destroyed. */
  readonly destroyedAt: Date | null;
  readonly publicKey: Buffer | null;
  readonly evidence: KeyEvidence | null;
  /** Null if the token contains the private key. */
  readonly sealed: Buffer | null;
  /** ID of the newest certificate that was imported for this version. */
  readonly certificateId: string | null;
  /** Expiry of the certificate `certificateId`. */
  readonly certificateExpiresAt: Date | null;
}
