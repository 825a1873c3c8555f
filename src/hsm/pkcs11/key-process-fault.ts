import { ckrOf, isFatal, isRefusal } from './pkcs11-errors.js';

/**
 * Outcome of an order, as reported by the key process. `unseen`: the order was not started, because its key may be visible only to the next process. The
 * process then returns every later order as `unseen`, and exits when its parent requests a stop.
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

/** KeyProcessFault is an order failure with a known cause. */
export class KeyProcessFault extends Error {
  readonly outcome: Exclude<CallOutcome, 'done'>;
  /** True if the process can no longer be used and must be replaced. */
  readonly fatal: boolean;

  constructor(outcome: Exclude<CallOutcome, 'done'>, message: string, fatal = false) {
    super(message);
    this.outcome = outcome;
    this.fatal = fatal;
  }
}

/** Converts an error to a fault of the order or the process. The message contains CKR names, but never attribute values. */
export function faultOf(error: unknown): KeyProcessFault {
  if (error instanceof KeyProcessFault) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (isRefusal(error)) return new KeyProcessFault('refused', text);
  if (ckrOf(error) === undefined && error instanceof RangeError) return new KeyProcessFault('refused', text);
  return new KeyProcessFault('unavailable', text, isFatal(error));
}
