import { Problem } from '../errors/problem.js';
import { isDatabaseTrouble, sqlState } from './database-error.js';

/** Seconds after which a request may succeed again. */
const SOON = 2;
/** Seconds for problems that an operator must resolve. */
const LATER = 30;

/**
 * databaseProblem returns the Problem that a caller receives for a database error; undefined if the error is a bug in the service. PostgreSQL aborts a
 * transaction whose statement fails, so an error before COMMIT means that nothing was changed. Only without a response is the outcome unknown.
 */
export function databaseProblem(error: unknown): Problem | undefined {
  const state = sqlState(error);
  return (state === undefined ? undefined : ofState(state)) ?? (isDatabaseTrouble(error) ? unanswered() : undefined);
}

function ofState(state: string): Problem | undefined {
  if (state === '57014') {
    // No Retry-After, because the same request would take as long again.
    return new Problem(
      'unavailable',
      'query.too-slow',
      'The query took longer than 10 seconds and was cancelled; nothing was changed. Narrow the filters or the time range.',
    );
  }
  if (state === '55P03') {
    const detail =
      'Another call is changing the same resource and did not finish in time; nothing was changed. Repeat the call.';
    return new Problem('unavailable', 'row.busy', detail, { retryAfter: SOON });
  }
  if (state === '25006') {
    const detail = 'The database is read-only at present; nothing was changed.';
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
  if (state === '3D000') return 'The database of the service does not exist; nothing was changed.';
  if (state === '42501') return 'The database denies the service a required privilege; nothing was changed.';
  return undefined;
}

function unanswered(): Problem {
  const detail =
    'The database does not respond, so it is unknown whether the change was made. Repeat the call with the same Idempotency-Key.';
  return new Problem('unavailable', 'database.unavailable', detail, { retryAfter: SOON });
}
