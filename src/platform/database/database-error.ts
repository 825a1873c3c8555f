import { DatabaseError } from 'pg';
import { QueryFailedError, type DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../errors/problem.js';

/**
 * SQLSTATE of an error of PostgreSQL, or undefined when it is none (PostgreSQL manual, appendix A). What the server says while a
 * connection is opened ("the database system is starting up") comes as the driver's own error, all else wrapped by TypeORM.
 */
export function sqlState(error: unknown): string | undefined {
  const driverError: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(driverError instanceof DatabaseError)) return undefined;
  const { code } = driverError;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** UNDEFINED_TABLE is the SQLSTATE of a statement about a table that does not exist. */
export const UNDEFINED_TABLE = '42P01';

/** True when the statement itself was at fault (class 22 data, class 23 constraint): another row may still succeed. */
export function isAboutTheRow(error: unknown): boolean {
  if (error instanceof Problem) return true;
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

/** True for a deadlock or a serialization failure, which a new attempt may not meet. */
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
/** What fails before there is a connection is about the network, whatever its code: a machine that is cut off hears EINVAL or EADDRNOTAVAIL. */
const CONNECTING = ['connect', 'getaddrinfo'];
// "already released": the driver takes a cut connection away from its transaction, whose next statement then finds none.
const WORDS =
  /already released|connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered|not queryable|driver not connected|connection error/i;

/** True when the database could not be reached or gave up; whether a commit in flight counted is then unknown. */
export function isDatabaseTrouble(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return TROUBLE.test(state);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return NETWORK.includes(code) || CONNECTING.includes(syscall) || WORDS.test(error.message);
}

/** Commits `work`. Throws the Problem that `taken` makes when a unique index refuses it: a name is taken. */
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

/** SQLSTATEs whose message says what happened and not what it means here. */
const MEANING: Readonly<Record<string, string>> = {
  '25006': 'it is read-only: a standby, or a database whose operator has stopped writes (is its disk full?)',
  '53100': 'its disk is full',
  '53200': 'it is out of memory',
  '53300': 'it has no free connection (max_connections)',
  '57014': 'a statement took too long',
  '55P03': 'a row remained locked by another transaction',
  '3D000': 'there is no database with that name (SVC_DATABASE_URL)',
  [UNDEFINED_TABLE]: 'a table is missing: was the schema migrated? Run: sealwright-admin migrate',
};

/** Codes of OpenSSL and Node.js for a certificate that does not verify, is over, or is of another name. */
const CERTIFICATE = /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/;

/** True for a server whose TLS certificate was not accepted. */
export function isCertificateFault(error: unknown): boolean {
  return error instanceof Error && CERTIFICATE.test((error as NodeJS.ErrnoException).code ?? '');
}

/** One line for the operator about an error of the database: what it means here, and the server's own words. */
export function operatorsWords(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  const state = sqlState(error) ?? '';
  if (isCertificateFault(error))
    return `its TLS certificate was not accepted. Set SVC_DATABASE_CA_FILE to the authority that issued it, and check the host name in SVC_DATABASE_URL; ${said}`;
  const meaning = state.startsWith('28') ? 'it refuses the user or the password (SVC_DATABASE_URL)' : MEANING[state];
  return meaning === undefined ? said : `${meaning}; it says: ${said}`;
}

/** What is logged of an error where documents of others are read: of the database its words, of anything else only the name, since its message may quote a document. */
export function causeOf(error: unknown): string {
  if (isDatabaseError(error)) return operatorsWords(error);
  return error instanceof Error ? error.name : 'unknown';
}

/** isDatabaseError reports whether an error came from PostgreSQL or from the connection to PostgreSQL. */
export function isDatabaseError(error: unknown): boolean {
  return sqlState(error) !== undefined || isDatabaseTrouble(error);
}
