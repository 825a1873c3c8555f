import { Problem } from './problem.js';
import { isDatabaseTrouble, sqlState } from './database-error.js';

/** Retry-After in seconds, for problems that resolve themselves. */
const SOON = 2;
/** Retry-After in seconds, for problems that an operator must resolve. */
const LATER = 30;

/**
 * databaseProblem returns the Problem that a caller receives for a database error; undefined if the error is a bug in the service. PostgreSQL aborts a
 * transaction whose statement fails, so an error before COMMIT means that nothing was changed. The outcome is unknown only if the database did not respond.
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
      'The query was cancelled after 10 seconds, and nothing was changed. Narrow the filters or the time range.',
    );
  }
  if (state === '55P03') {
    const detail =
      'Another request is changing the same resource and did not complete in time. Nothing was changed. Retry after 2 seconds.';
    return new Problem('unavailable', 'row.busy', detail, { retryAfter: SOON });
  }
  if (state === '25006') {
    const detail = 'The database is currently read-only. Nothing was changed. Retry after 30 seconds.';
    return new Problem('unavailable', 'database.read-only', detail, { retryAfter: LATER });
  }
  if (state === '53100') {
    const detail = 'The disk of the database is full. Nothing was changed. Retry after 30 seconds.';
    return new Problem('unavailable', 'database.full', detail, { retryAfter: LATER });
  }
  const refusal = ofSignIn(state);
  return refusal === undefined
    ? undefined
    : new Problem('unavailable', 'database.unavailable', refusal, { retryAfter: LATER });
}

function ofSignIn(state: string): string | undefined {
  if (state === '53300') return 'The database has no free connections. Nothing was changed. Retry after 30 seconds.';
  if (state.startsWith('28'))
    return 'The database rejected the credentials of the service. Nothing was changed. An operator must correct the credentials.';
  if (state === '3D000')
    return 'The database of the service does not exist. Nothing was changed. An operator must correct SVC_DATABASE_URL.';
  if (state === '42501')
    return 'The database user of the service lacks a required privilege. Nothing was changed. An operator must grant the privilege.';
  return undefined;
}

function unanswered(): Problem {
  const detail =
    'The database did not respond, so it is unknown whether the change was made. Repeat the request with the same Idempotency-Key.';
  return new Problem('unavailable', 'database.unavailable', detail, { retryAfter: SOON });
}
