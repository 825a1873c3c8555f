import { Problem } from '../errors/problem.js';
import { isDatabaseTrouble, sqlState } from './database-error.js';

/** Seconds after which a call may succeed again. */
const SOON = 2;
/** For what an operator has to do something about. */
const LATER = 30;

/**
 * What a caller hears of an error of the database; undefined when it is a fault of ours. PostgreSQL ends a transaction whose statement fails, so
 * whenever it answers with an error before COMMIT nothing was changed; only where it did not answer nobody knows.
 */
export function databaseProblem(error: unknown): Problem | undefined {
  const state = sqlState(error);
  return (state === undefined ? undefined : ofState(state)) ?? (isDatabaseTrouble(error) ? unanswered() : undefined);
}

function ofState(state: string): Problem | undefined {
  if (state === '57014') {
    // No Retry-After: the same call would take as long again.
    return new Problem(
      'unavailable',
      'query.too-slow',
      'The database needed longer than 10 seconds and was stopped; nothing was changed. Ask for less: narrow the filters or the time span.',
    );
  }
  if (state === '55P03') {
    const detail =
      'Somebody else is changing the same thing and did not finish in time; nothing was changed. Repeat it.';
    return new Problem('unavailable', 'row.busy', detail, { retryAfter: SOON });
  }
  if (state === '25006') {
    const detail = 'The database takes no changes now (it is read-only); nothing was changed.';
    return new Problem('unavailable', 'database.read-only', detail, { retryAfter: LATER });
  }
  if (state === '53100') {
    const detail = 'The disk of the database is full; nothing was changed.';
    return new Problem('unavailable', 'database.full', detail, { retryAfter: LATER });
  }
  const refusal = ofSignIn(state);
  return refusal === undefined
    ? undefined
    : new Problem('unavailable', 'database.unavailable', refusal, { retryAfter: LATER });
}

function ofSignIn(state: string): string | undefined {
  if (state === '53300') return 'The database has no connection left for the service; nothing was changed.';
  if (state.startsWith('28')) return 'The database refuses the sign-in of the service; nothing was changed.';
  if (state === '3D000') return 'The database of the service is not there; nothing was changed.';
  if (state === '42501') return 'The database refuses the service a right that it needs; nothing was changed.';
  return undefined;
}

function unanswered(): Problem {
  const detail =
    'The database does not answer; whether the change was made is not known. Repeat the call with the same Idempotency-Key.';
  return new Problem('unavailable', 'database.unavailable', detail, { retryAfter: SOON });
}
