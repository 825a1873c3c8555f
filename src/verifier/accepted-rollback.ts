import type { Checkpoint } from './signed-note.js';

interface LogState {
  readonly size: number;
  /** Base64. */
  readonly root: string;
}

/** A restore that an operator accepted, as recorded in the log itself (action `log.rolled-back`). */
export interface AcceptedRollback {
  readonly at: string;
  /** Names of the log before and after the restore. */
  readonly before: string;
  readonly after: string;
  /** Last state that the HSM signed; undefined if the token was new. */
  readonly signed: LogState | undefined;
  /** State of the log that the operator accepted. */
  readonly accepted: LogState;
}

/** Returns the rollback recorded in a leaf; undefined for any other leaf. Leaves are untrusted: any member may be missing. */
export function acceptedRollbackIn(data: object): AcceptedRollback | undefined {
  const { action, at, detail } = data as Record<string, unknown>;
  if (action !== 'log.rolled-back' || typeof detail !== 'object' || detail === null) return undefined;
  const { origin, signed, accepted } = detail as Record<string, unknown>;
  const { before, after } = (origin ?? {}) as Record<string, unknown>;
  const kept = stateIn(accepted);
  if (typeof before !== 'string' || typeof after !== 'string' || kept === undefined) return undefined;
  return { at: String(at), before, after, signed: stateIn(signed), accepted: kept };
}

/**
 * Returns an explanation for auditors if accepted rollbacks explain why the log does not match an older checkpoint. Returns undefined if no chain of accepted
 * rollbacks leads from the log of the checkpoint to the log named `now`. `diverges`: whether the first leaves of the log differ from the leaves that the
 * checkpoint covers.
 */
export function coveringRollback(
  rollbacks: readonly AcceptedRollback[],
  older: Checkpoint,
  now: string | undefined,
  diverges: boolean,
): string | undefined {
  const first = rollbacks.findIndex(({ before }) => before === older.origin);
  const chain = first < 0 ? [] : rollbacks.slice(first);
  const [rollback] = chain;
  if (rollback === undefined || chain.at(-1)?.after !== now) return undefined;
  if (chain.some(({ before }, at) => at > 0 && chain[at - 1]?.after !== before)) return undefined;
  // Leaves that the restore kept must match the checkpoint. A checkpoint with more leaves must not exceed the last state that the HSM signed.
  if (older.size <= rollback.accepted.size && diverges) return undefined;
  if (older.size > rollback.accepted.size && !isOf(older, rollback.signed)) return undefined;
  const lost = Math.max(0, older.size - rollback.accepted.size);
  return `at ${rollback.at}, an operator accepted that the log ${older.origin} continues as ${now} from ${rollback.accepted.size} leaves: ${lost} of the leaves covered by your checkpoint are lost`;
}

function isOf(older: Checkpoint, signed: LogState | undefined): boolean {
  if (signed === undefined || older.size > signed.size) return false;
  return older.size < signed.size || older.root.toString('base64') === signed.root;
}

function stateIn(value: unknown): LogState | undefined {
  const { size, root } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof size === 'number' && typeof root === 'string' ? { size, root } : undefined;
}
