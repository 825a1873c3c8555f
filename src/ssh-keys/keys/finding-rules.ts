import { readOptions } from '../../formats/ssh/key-line.js';
import type { SshKeyLocation } from './ssh-key-location.entity.js';
import type { SshKey } from './ssh-key.entity.js';

export const FINDING_RULES = [
  'weak',
  'old',
  'orphan',
  'shared',
  'root',
  'cert-authority',
  'no-passphrase',
  'unrestricted',
] as const;
export type FindingRule = (typeof FINDING_RULES)[number];

export const FINDING_SEVERITIES = ['HIGH', 'MEDIUM', 'LOW'] as const;
export type FindingSeverity = (typeof FINDING_SEVERITIES)[number];

export interface SshKeyFault {
  readonly rule: FindingRule;
  readonly severity: FindingSeverity;
  readonly locationId: string | null;
  /** Reason for the finding, as one sentence. */
  readonly detail: string;
}

/** Minimum size of an RSA key in bits. Smaller keys have less than 112 bits of strength (NIST SP 800-57 part 1) and can be broken with feasible effort. */
const RSA_BROKEN = 2048;
/** Minimum size of an RSA key in bits after 2030. Smaller keys are disallowed from then on (NIST SP 800-131A). */
const RSA_ENDING = 3072;
const DAY_MS = 24 * 3600 * 1000;
/** Options that restrict the use of a key. */
const NARROWING = new Set(['restrict', 'from', 'command', 'principals']);

export interface FindingSubject {
  readonly key: Pick<SshKey, 'type' | 'bits' | 'owner' | 'custody' | 'knownSince'>;
  /** Current locations of the key. */
  readonly locations: readonly SshKeyLocation[];
}

/** Applies all rules to one key. A finding about a line or file includes its location. */
export function findingsOf(subject: FindingSubject, maxAgeDays: number, now: Date): SshKeyFault[] {
  const { key, locations } = subject;
  const lines = locations.filter(({ kind }) => kind === 'authorized-key');
  const files = locations.filter(({ kind }) => kind === 'private-key');
  return [
    ...weak(key),
    ...old(key, maxAgeDays, now),
    ...orphan(key, lines, files),
    ...shared(files),
    ...lines.filter(letsRootIn).map((line) => at(line, 'root', 'HIGH', 'It grants root access.')),
    ...lines.flatMap(certAuthority),
    ...lines
      .filter(isUnrestricted)
      .map((line) =>
        at(line, 'unrestricted', 'LOW', 'The line has no from=, command= or restrict option that limits its use.'),
      ),
    ...files
      .filter(({ passphrase }) => passphrase === false)
      .map((file) =>
        at(
          file,
          'no-passphrase',
          'MEDIUM',
          'The private key has no passphrase, so anyone who can read the file can use it.',
        ),
      ),
  ];
}

function weak({ type, bits }: FindingSubject['key']): SshKeyFault[] {
  if (type === 'ssh-dss') return [about('weak', 'HIGH', 'DSA is broken and no longer supported by OpenSSH.')];
  if (type !== 'ssh-rsa' || bits === null || bits >= RSA_ENDING) return [];
  return bits < RSA_BROKEN
    ? [about('weak', 'HIGH', `The RSA key has ${bits} bits; the minimum is 2048.`)]
    : [about('weak', 'MEDIUM', `RSA keys of ${bits} bits must not be used after 2030 (NIST SP 800-131A).`)];
}

function old({ knownSince }: FindingSubject['key'], maxAgeDays: number, now: Date): SshKeyFault[] {
  const days = Math.floor((now.getTime() - knownSince.getTime()) / DAY_MS);
  if (days <= maxAgeDays) return [];
  return [about('old', 'MEDIUM', `The key is at least ${days} days old; the limit is ${maxAgeDays} days.`)];
}

function orphan(
  { owner, custody }: FindingSubject['key'],
  lines: SshKeyLocation[],
  files: SshKeyLocation[],
): SshKeyFault[] {
  if (lines.length === 0 || files.length > 0 || owner !== null || custody !== 'unknown') return [];
  return [about('orphan', 'MEDIUM', 'The key grants access, but the holder of its private key is unknown.')];
}

function shared(files: SshKeyLocation[]): SshKeyFault[] {
  const holders = new Set(files.map(({ hostId, account }) => `${hostId} ${account}`));
  if (holders.size < 2) return [];
  return [about('shared', 'HIGH', `${holders.size} accounts hold the same private key.`)];
}

/** Returns a finding for a line that accepts every certificate issued by a key, and therefore users and jobs that are not listed on the host. */
function certAuthority(line: SshKeyLocation): SshKeyFault[] {
  const options = readOptions(line.options ?? '').map(({ name }) => name);
  if (!options.includes('cert-authority')) return [];
  return options.includes('principals')
    ? [
        at(
          line,
          'cert-authority',
          'MEDIUM',
          'The account accepts certificates signed by this key for the listed principals.',
        ),
      ]
    : [at(line, 'cert-authority', 'HIGH', 'The account accepts every certificate signed by this key.')];
}

function letsRootIn({ account, uid }: SshKeyLocation): boolean {
  return uid === 0 || account === 'root';
}

function isUnrestricted({ options }: SshKeyLocation): boolean {
  return !readOptions(options ?? '').some(({ name }) => NARROWING.has(name));
}

function about(rule: FindingRule, severity: FindingSeverity, detail: string): SshKeyFault {
  return { rule, severity, locationId: null, detail };
}

function at({ id }: SshKeyLocation, rule: FindingRule, severity: FindingSeverity, detail: string): SshKeyFault {
  return { rule, severity, locationId: id, detail };
}
