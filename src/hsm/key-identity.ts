/** What a key that signs for the service is for. The key of the audit log is not among them: no sign order reaches it. */
export const SIGNER_PURPOSES = ['signing', 'timestamping', 'certificates', 'ssh-ca', 'ssh-key'] as const;
export type SignerPurpose = (typeof SIGNER_PURPOSES)[number];

/**
 * Which key an order means. The token's own CKA_LABEL must say the same: rows of the database, where CKA_IDs and public keys
 * are kept, do not decide alone which key signs.
 */
export interface KeyIdentity {
  readonly purpose: SignerPurpose;
  /** Whose key it is: `NAME vVERSION ID` of a signing key (ID: its UUID without dashes), the UUID of an SSH authority or SSH key. */
  readonly owner: string;
}

/** A key in the token: it is found by its CKA_ID, and counts only when its CKA_LABEL is one of these. */
export interface TokenKey {
  readonly ckaId: Buffer;
  /** The first is the one that keys are made with; the others were given by earlier versions of this service. */
  readonly labels: readonly [string, ...string[]];
}

export const MAX_OWNER_BYTES = 128;

/** The owner of a version of a signing key. */
export function signingKeyOwner(keyId: string, name: string, version: number): string {
  return `${name} v${version} ${keyId.replaceAll('-', '')}`;
}
