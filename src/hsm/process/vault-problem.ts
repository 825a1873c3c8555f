import { Problem, type ProblemKind } from '../../platform/errors/problem.js';
import { type CallOutcome } from '../pkcs11/key-process-fault.js';
import {
  DIGEST_BYTES,
  isMlDsa,
  MAX_OWNER_BYTES,
  MAX_SEALED_BYTES,
  type SealOrder,
  type SignOrder,
  type VaultKey,
} from '../key-vault.js';
import { isCurve } from '../signatures/ecdsa.js';

/** Outcomes that callers receive as errors. An `unseen` order is passed to the next process, and fails as `unavailable` if no process starts in time. */
type Failure = Exclude<CallOutcome, 'done' | 'unseen'> | 'deadline' | 'busy';

/** Seconds after which the HSM is likely to be available again: replacing a key process takes well under one second. */
const RETRY_AFTER = 1;

const MAX_ID_BYTES = 255;

const FAILURES: Record<Failure, { readonly kind: ProblemKind; readonly text: (detail: string) => string }> = {
  unavailable: { kind: 'unavailable', text: () => 'The HSM did not respond. Retry.' },
  deadline: { kind: 'unavailable', text: () => 'The HSM took too long and was restarted. Retry.' },
  'wrong-signature': {
    kind: 'unavailable',
    text: () => "The HSM's signature did not verify with the public key and was discarded. Retry.",
  },
  busy: { kind: 'overloaded', text: () => 'The HSM queue is full. Retry.' },
  'key-missing': { kind: 'conflict', text: () => 'The HSM does not contain the private key.' },
  'other-key': {
    kind: 'conflict',
    text: (detail) => `The key in the HSM is not the expected key: ${detail}.`,
  },
  'not-authentic': {
    kind: 'conflict',
    text: () =>
      'The HSM cannot decrypt a stored secret: the secret was modified, or was encrypted for another record or by another HSM.',
  },
  refused: { kind: 'conflict', text: (detail) => `The HSM rejected the operation: ${detail}.` },
};

/** Converts an HSM failure to a Problem for the caller. `detail` is for the operator and becomes the cause. */
export function vaultProblem(failure: Failure, detail: string): Problem {
  const { kind, text } = FAILURES[failure];
  const retryAfter = kind === 'conflict' ? undefined : RETRY_AFTER;
  return new Problem(kind, `hsm.${failure}`, text(detail), { cause: new Error(detail), retryAfter });
}

/** Rejects a sign order whose key, scheme, algorithm and digest do not match. Throws Problem `hsm.refused`. */
export function assertSignable({ key, scheme, algorithm, digest, message }: SignOrder): void {
  const length = DIGEST_BYTES[algorithm];
  if (digest.length !== length) {
    throw vaultProblem('refused', `a ${algorithm} digest has ${length} bytes, not ${digest.length}`);
  }
  const family = isMlDsa(key.type) ? 'ml-dsa' : isCurve(key.type) ? 'ecdsa-' : 'rsa-';
  const held = isMlDsa(key.type) === Boolean(key.sealed);
  if (!scheme.startsWith(family) || !held || (message !== undefined && scheme !== 'ml-dsa')) {
    throw vaultProblem('refused', `a key of type ${key.type} does not support the scheme ${scheme}`);
  }
  assertKeyNamed(key);
  if (key.publicKey.length > 0xffff) throw vaultProblem('refused', 'the stored public key is too long');
}

/** Rejects values that are empty or too long to be encrypted. Throws Problem `hsm.refused`. */
export function assertSealable({ plain: { length } }: SealOrder): void {
  if (length === 0 || length > MAX_SEALED_BYTES)
    throw vaultProblem('refused', `data to be sealed must be 1 to ${MAX_SEALED_BYTES} bytes long, not ${length}`);
}

/** Rejects a key whose CKA_ID or owner is empty or too long. The order codec encodes each length in one byte. */
export function assertKeyNamed({ ckaId, identity: { owner } }: Pick<VaultKey, 'ckaId' | 'identity'>): void {
  if (ckaId.length === 0 || ckaId.length > MAX_ID_BYTES)
    throw vaultProblem('refused', `the CKA_ID must be 1 to ${MAX_ID_BYTES} bytes long`);
  if (owner.length === 0 || owner.length > MAX_OWNER_BYTES)
    throw vaultProblem('refused', `the key owner must be 1 to ${MAX_OWNER_BYTES} characters long`);
}
