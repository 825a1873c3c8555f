import { type ClaimCondition, unmetCondition, type VerifiedIdentity } from '../../access/identity/verified-identity.js';
import { subjectNames } from '../../approvals/policies/key-use.port.js';
import { DIGEST_BYTES, type DigestAlgorithm, type KeyType, type SignatureScheme } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import type { SignatureFormat } from '../formats/signature-format.js';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** SigningHours defines when a key may be used: on `days`, from `from` until `until` (HH:MM; 24:00 is the end of the day), in the local time of `timeZone`. */
export interface SigningHours {
  readonly days: readonly Weekday[];
  readonly from: string;
  readonly until: string;
  /** IANA name of the time zone. */
  readonly timeZone: string;
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}

export function withinHours({ days, from, until, timeZone }: SigningHours, now: Date): boolean {
  const options = { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const parts = new Map(
    new Intl.DateTimeFormat('en-GB', options).formatToParts(now).map(({ type, value }) => [type, value]),
  );
  const time = `${parts.get('hour')}:${parts.get('minute')}`;
  return days.some((day) => day === parts.get('weekday')?.toLowerCase()) && from <= time && time < until;
}

export const TIMESTAMP_RULES = ['optional', 'required'] as const;

/** KeyConstraints limits the use of a key. An absent field imposes no limit. */
export interface KeyConstraints {
  readonly algorithms?: readonly DigestAlgorithm[];
  readonly schemes?: readonly SignatureScheme[];
  readonly formats?: readonly SignatureFormat[];
  /** `metadata.filename` must be present and match one of these patterns; see fitsPattern. */
  readonly fileNames?: readonly string[];
  /** IDs of the API keys, OAuth clients, workload trusts or users that can use the key. A user ID includes everything that acts on behalf of the user. */
  readonly callers?: readonly string[];
  /** Restricts the key to workloads whose verified claims match all of these conditions. */
  readonly verified?: readonly ClaimCondition[];
  readonly hours?: SigningHours;
  readonly timestamp?: (typeof TIMESTAMP_RULES)[number];
  /** Maximum number of accepted requests per UTC day. */
  readonly perDay?: number;
  /** Maximum number of requests over the key's lifetime. */
  readonly lifetime?: number;
}

/** KeyUse is a use of a key that is checked against the key's constraints. */
export interface KeyUse {
  readonly algorithm: DigestAlgorithm;
  readonly scheme: SignatureScheme;
  readonly format: SignatureFormat;
  readonly metadata: Record<string, unknown>;
  readonly timestamp: boolean;
  /** ID of the caller. */
  readonly requestedBy: string;
  /** ID of the user on whose behalf the caller acts. */
  readonly ownerId: string;
  /** Verified claims of the caller; null for callers that are not workloads. */
  readonly identity: VerifiedIdentity | null;
}

interface Constrained {
  readonly name: string;
  readonly type: KeyType;
  readonly constraints: KeyConstraints;
}

/** Rejects a use that the key's constraints do not allow. Limits on the number of uses are enforced in key-usage. */
export function assertPermitted(key: Constrained, use: KeyUse, now: Date): void {
  const { algorithms, schemes, formats, callers, fileNames, hours, timestamp } = key.constraints;
  if (excludes(algorithms, use.algorithm))
    throw forbidden(
      'key-policy.algorithm',
      '/algorithm',
      `key "${key.name}" allows only these digest algorithms: ${list(algorithms)}`,
    );
  if (algorithms !== undefined && isTruncated(key.type, use)) {
    const detail = `the key "${key.name}" of type ${key.type} would sign only the first octets of a ${use.algorithm} digest, so the signature would also be valid for other digests`;
    throw forbidden('key-policy.algorithm', '/algorithm', detail);
  }
  if (excludes(schemes, use.scheme))
    throw forbidden(
      'key-policy.scheme',
      '/scheme',
      `key "${key.name}" allows only these signature schemes: ${list(schemes)}`,
    );
  if (excludes(formats, use.format))
    throw forbidden('key-policy.format', '/format', `key "${key.name}" allows only these formats: ${list(formats)}`);
  const askers = [use.requestedBy, use.ownerId, ...(use.identity === null ? [] : [use.identity.trust.id])];
  if (callers !== undefined && !callers.some((one) => askers.includes(one)))
    throw forbidden('key-policy.caller', '/key', `key "${key.name}" does not allow this caller`);
  assertVerified(key, use);
  if (fileNames !== undefined && !namesOf(use).every((name) => fileNames.some((pattern) => fits(name, pattern))))
    throw forbidden(
      'key-policy.file-name',
      '/metadata/filename',
      `key "${key.name}" allows only these file names: ${list(fileNames)}`,
    );
  if (timestamp === 'required' && !use.timestamp)
    throw forbidden('key-policy.timestamp', '/timestamp', `key "${key.name}" requires a timestamp`);
  if (hours !== undefined && !withinHours(hours, now))
    throw new Problem(
      'conflict',
      'key-policy.hours',
      `Key "${key.name}" can be used only on ${hours.days.join(', ')} from ${hours.from} to ${hours.until} (${hours.timeZone}).`,
    );
}

/** Formats in which the key signs the caller's digest instead of the hash of bytes that the service composed. */
const CALLERS_DIGEST: readonly SignatureFormat[] = ['raw', 'sigstore-bundle', 'dsse', 'openpgp'];

/** Maximum length in bytes of a digest that ECDSA signs without truncation. P-521 does not truncate any supported digest. */
const CURVE_BYTES: Partial<Record<KeyType, number>> = { 'ec-p256': 32, 'ec-p384': 48 };

/**
 * isTruncated reports whether ECDSA ignores the end of the caller's digest (FIPS 186-5 section 6.4.1). The first octets can be a digest of an algorithm that
 * the key does not allow.
 */
function isTruncated(type: KeyType, { algorithm, format }: Pick<KeyUse, 'algorithm' | 'format'>): boolean {
  return CALLERS_DIGEST.includes(format) && DIGEST_BYTES[algorithm] > (CURVE_BYTES[type] ?? Infinity);
}

/** Rejects a caller whose verified claims do not meet the constraints. The caller's own statements are not considered. */
function assertVerified({ name, constraints }: Constrained, { identity }: KeyUse): void {
  if (constraints.verified === undefined) return;
  if (identity === null)
    throw forbidden('key-policy.identity', '/key', `key "${name}" requires a workload with a verified identity`);
  const unmet = unmetCondition(constraints.verified, identity.claims);
  if (unmet === undefined) return;
  const detail = `key "${name}" requires the ${unmet.claim} claim to be one of: ${list(unmet.values)}`;
  throw forbidden('key-policy.claim', '/key', detail);
}

/** Returns the names of the files to be signed. An attestation has one name for each of its files. Any other request has one name, in its metadata. */
function namesOf({ format, metadata }: KeyUse): unknown[] {
  const subjects = format === 'attestation' ? subjectNames(metadata) : undefined;
  return subjects ?? [metadata['filename']];
}

function fits(name: unknown, pattern: string): boolean {
  return typeof name === 'string' && fitsPattern(name, pattern);
}

function excludes<T>(allowed: readonly T[] | undefined, asked: T): boolean {
  return allowed !== undefined && !allowed.includes(asked);
}

function list(allowed: readonly string[] | undefined): string {
  return (allowed ?? []).join(', ');
}

export function forbidden(code: string, pointer: string, detail: string): Problem {
  return new Problem('forbidden', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

/**
 * Reports whether a name matches a pattern in which `*` matches any characters including `/`, and `?` matches one character; other characters match
 * themselves. For any pattern, the number of steps is at most the product of both lengths.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    if (pattern[place] === '*') {
      star = place++;
      resume = at;
    } else if (place < pattern.length && (pattern[place] === '?' || pattern[place] === name[at])) {
      at += 1;
      place += 1;
    } else if (star >= 0) {
      // The last star matches one more character.
      place = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[place] === '*') place += 1;
  return place === pattern.length;
}
