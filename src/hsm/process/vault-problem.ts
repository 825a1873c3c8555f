import { Problem, type ProblemKind } from '../../platform/errors/problem.js';
import { type CallOutcome } from '../pkcs11/key-process-fault.js';

/** An order that was `unseen` is given to the next process, and is `unavailable` when there is none in time. */
type Failure = Exclude<CallOutcome, 'done' | 'unseen'> | 'deadline' | 'busy';

/** Seconds after which the HSM is likely to be back: a replaced key process needs well under one. */
const RETRY_AFTER = 1;

const FAILURES: Record<Failure, { readonly kind: ProblemKind; readonly text: (detail: string) => string }> = {
  unavailable: { kind: 'unavailable', text: () => 'The HSM did not answer. Try again.' },
  deadline: { kind: 'unavailable', text: () => 'The HSM took too long and was started anew. Try again.' },
  'wrong-signature': {
    kind: 'unavailable',
    text: () => 'The signature that the HSM made did not verify with the public key and was dropped. Try again.',
  },
  busy: { kind: 'overloaded', text: () => 'More is waiting for the HSM than it can work off. Try again.' },
  'key-missing': { kind: 'conflict', text: () => 'The HSM does not hold the private key.' },
  'other-key': {
    kind: 'conflict',
    text: (detail) => `The key in the HSM is not the one that is meant: ${detail}.`,
  },
  'not-authentic': {
    kind: 'conflict',
    text: () => 'The HSM does not open a stored secret: it was changed, or sealed for another place or by another HSM.',
  },
  refused: { kind: 'conflict', text: (detail) => `The HSM refuses this operation: ${detail}.` },
};

/** A failure at the HSM as the Problem that callers see. `detail` is for the operator and goes into the cause. */
export function vaultProblem(failure: Failure, detail: string): Problem {
  const { kind, text } = FAILURES[failure];
  const retryAfter = kind === 'conflict' ? undefined : RETRY_AFTER;
  return new Problem(kind, `hsm.${failure}`, text(detail), { cause: new Error(detail), retryAfter });
}
