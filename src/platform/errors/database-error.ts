import { DatabaseError } from 'pg';
import { QueryFailedError, type DataSource, type EntityManager } from 'typeorm';
import { Problem } from './problem.js';

/**
 * sqlState returns the SQLSTATE of a PostgreSQL error; undefined for other errors (PostgreSQL manual, appendix A). Errors during connection startup ("the
 * database system is starting up") come directly from the driver; TypeORM wraps all other errors.
 */
export function sqlState(error: unknown): string | undefined {
  const driverError: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(driverError instanceof DatabaseError)) return undefined;
  const { code } = driverError;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** UNDEFINED_TABLE is the SQLSTATE for a table that does not exist. */
export const UNDEFINED_TABLE = '42P01';

/** isAboutTheRow returns true if the data was invalid (class 22 data exception, class 23 constraint violation). Other rows may still succeed. */
export function isAboutTheRow(error: unknown): boolean {
  if (error instanceof Problem) return true;
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

/** isWorthAnotherTry returns true for a deadlock or a serialization failure, after which a retry may succeed. */
export function isWorthAnotherTry(error: unknown): boolean {
  return ['40P01', '40001'].includes(sqlState(error) ?? '');
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

const TROUBLE = /^(08|53|57|58|25|XX)|^40|^55/;
const NETWORK = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
];
/** A failure of these system calls is a network error, regardless of its code: without a network, the calls may fail with EINVAL or EADDRNOTAVAIL. */
const CONNECTING = ['connect', 'getaddrinfo'];
// "already released": the driver removes a broken connection from its transaction, whose next statement then has no connection.
const WORDS =
  /already released|connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered|not queryable|driver not connected|connection error/i;

/** isDatabaseTrouble returns true if the database was unreachable or aborted the connection. The outcome of a commit in flight is then unknown. */
export function isDatabaseTrouble(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return TROUBLE.test(state);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return NETWORK.includes(code) || CONNECTING.includes(syscall) || WORDS.test(error.message);
}

/** writeUnique runs `work` in a transaction. Throws the Problem from `taken` if a unique index is violated. */
export async function writeUnique<Result>(
  db: DataSource,
  work: (tx: EntityManager) => Promise<Result>,
  taken: () => Problem,
): Promise<Result> {
  try {
    return await db.transaction(work);
  } catch (error) {
    throw isUniqueViolation(error) ? taken() : error;
  }
}

/** Explanations of SQLSTATEs whose messages do not explain the effect on the service. */
const MEANING: Readonly<Record<string, string>> = {
  '25006': 'read-only (a standby, or an operator has disabled writes; is the disk full?)',
  '53100': 'the disk is full',
  '53200': 'out of memory',
  '53300': 'no free connections (max_connections)',
  '57014': 'a statement took too long',
  '55P03': 'a row remained locked by another transaction',
  '3D000': 'the database in SVC_DATABASE_URL does not exist',
  [UNDEFINED_TABLE]: 'a table is missing; run "sealwright-admin migrate"',
};

/** Matches error codes of OpenSSL and Node.js for a certificate that cannot be verified, has expired, or has a different name. */
const CERTIFICATE = /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/;

/** isCertificateFault returns true if the TLS certificate of a server was rejected. */
export function isCertificateFault(error: unknown): boolean {
  return error instanceof Error && CERTIFICATE.test((error as NodeJS.ErrnoException).code ?? '');
}

/** operatorsWords describes a database error for the operator in one line: its meaning for the service, and the server's message. */
export function operatorsWords(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  const state = sqlState(error) ?? '';
  if (isCertificateFault(error))
    return `the TLS certificate of the server was rejected; set SVC_DATABASE_CA_FILE to the CA that issued it, and check the host name in SVC_DATABASE_URL: ${said}`;
  const meaning = state.startsWith('28') ? 'the user or the password was rejected (SVC_DATABASE_URL)' : MEANING[state];
  return meaning === undefined ? said : `${meaning}: ${said}`;
}

/**
 * causeOf returns what may be logged about an error while processing other people's documents: the message of a database error, otherwise only the error's
 * name, because the message may quote a document.
 */
export function causeOf(error: unknown): string {
  if (isDatabaseError(error)) return operatorsWords(error);
  return error instanceof Error ? error.name : 'unknown';
}

/** isDatabaseError returns true if an error came from PostgreSQL or from the connection to PostgreSQL. */
export function isDatabaseError(error: unknown): boolean {
  return sqlState(error) !== undefined || isDatabaseTrouble(error);
}
