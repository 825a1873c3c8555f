import type { KeyIdentity } from './key-identity.js';
import { KeyProcessFault } from './key-process-fault.js';

/** CKA_LABEL of the key of the log. */
export const LOG_LABEL = 'sealwright-log';

const SIGNING_OWNER = /^([a-z0-9][a-z0-9._-]{0,62} v\d{1,9}) [0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
