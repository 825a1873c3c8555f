import { ckrOf, isFatal, isRefusal } from './pkcs11-errors.js';

/**
 * The result of an order as the key process reports it. `unseen`: the order was not started, and the next process may see its key; this process returns every
 * later order, and ends when it is told to stop.
 */
export const OUTCOMES = [
  'done',
  'unavailable',
  'unseen',
  'wrong-signature',
  'key-missing',
  'refused',
  'not-authentic',
  'other-key',
] as const;
export type CallOutcome = (typeof OUTCOMES)[number];

/** An order that failed for a reason the key process knows. */
export class KeyProcessFault extends Error {
  readonly outcome: Exclude<CallOutcome, 'done'>;
  /** The process can no longer be trusted or used and must be replaced. */
  readonly fatal: boolean;

  constructor(outcome: Exclude<CallOutcome, 'done'>, message: string, fatal = false) {
    super(message);
    this.outcome = outcome;
    this.fatal = fatal;
  }
}

/** The fault that an error means for the order and for the process. CKR names go into the text, values of attributes never. */
export function faultOf(error: unknown): KeyProcessFault {
  if (error instanceof KeyProcessFault) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (isRefusal(error)) return new KeyProcessFault('refused', text);
  if (ckrOf(error) === undefined && error instanceof RangeError) return new KeyProcessFault('refused', text);
  return new KeyProcessFault('unavailable', text, isFatal(error));
}
