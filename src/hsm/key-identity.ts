import { KeyProcessFault } from './key-process-fault.js';

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

export const LOG_LABEL = 'sealwright-log';
export const MAX_OWNER_BYTES = 128;

const SIGNING_OWNER = /^([a-z0-9][a-z0-9._-]{0,62} v\d{1,9}) [0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The owner of a version of a signing key. */
export function signingKeyOwner(keyId: string, name: string, version: number): string {
  return `${name} v${version} ${keyId.replaceAll('-', '')}`;
}

/**
 * CKA_LABEL of such a key. Labels of different purposes and owners are never the same: owners have a fixed form. Before
 * purpose and id were part of it, the label of a signing key said its name and version only.
 *
 * @throws KeyProcessFault `refused` when the owner has another form
 */
export function labelsOf({ purpose, owner }: KeyIdentity): readonly [string, ...string[]] {
  if (purpose === 'ssh-ca' || purpose === 'ssh-key') {
    if (!UUID.test(owner)) throw malformed();
    return [purpose === 'ssh-ca' ? `sealwright ssh ca ${owner}` : `sealwright ssh ${owner}`];
  }
  const nameAndVersion = SIGNING_OWNER.exec(owner)?.[1];
  if (nameAndVersion === undefined) throw malformed();
  return [`sealwright ${purpose} ${owner}`, `sealwright ${nameAndVersion}`];
}

function malformed(): KeyProcessFault {
  return new KeyProcessFault('refused', 'the order does not say whose key it means');
}
