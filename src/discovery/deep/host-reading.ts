import { isSshCertificateType } from '../../formats/ssh/certificate-type.js';
import type { FoundSshKey, SshKeyUse } from '../../platform/queue/inbox-messages.js';
import { readLines } from '../../platform/ssh/authorized-keys-file.js';
import { keyBitsOf, sshFingerprintOf, publicKeyLine, readPublicKeyLine } from '../../formats/ssh/public-key.js';
import type { HostSurvey } from './host-survey.js';
import { shown, readScriptOutput, type ScriptLine, fieldTextOf } from './host-scripts.js';

/** Facts about a private key file. Its content stays on the host. */
export interface PrivateKeyFile extends FoundSshKey {
  /** `OpenSSH`, `PEM` or `PuTTY`. */
  readonly format: string;
  /** Whether the key is meant for SSH, based on its format, its directory or an adjacent .pub file. */
  readonly isForSsh: boolean;
}

export interface FoundCertificate {
  readonly path: string;
  /** PEM or base64-encoded DER. */
  readonly text: string;
}

export interface FoundKeyStore {
  readonly path: string;
  readonly format: 'JKS' | 'JCEKS' | 'PKCS12';
  readonly bytes: number;
}

/** Keys, certificates and key stores found on a host. */
export interface HostReading {
  readonly lines: readonly FoundSshKey[];
  readonly privateKeys: readonly PrivateKeyFile[];
  readonly certificates: readonly FoundCertificate[];
  readonly keyStores: readonly FoundKeyStore[];
  /** Files that were read completely or do not exist. */
  readonly readPaths: readonly string[];
  readonly denied: readonly string[];
  /** Files with more than MAX_CERTIFICATES certificates, which are therefore assumed to be trust stores. */
  readonly trustStores: readonly string[];
  /** Whether the scan stopped at its file or time limit. */
  readonly isCut: boolean;
}

const MAX_CERTIFICATES = 20;
const LAST_SECOND = 253_402_300_799;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const SSH_HOST_KEY = /\/ssh_host_[^/]*key$/;

/** Returns the lines of authorized_keys files. */
export function readKeyFiles(output: readonly ScriptLine[], { accounts }: HostSurvey) {
  const uids = new Map(accounts.map(({ name, uid }) => [name, uid]));
  const found: KeyFiles = { lines: [], readPaths: [], denied: [] };
  for (const one of output) {
    if (one.tag === 'denied') found.denied.push(shown(fieldTextOf(one, 0), 1000));
    else if (one.tag === 'missing') found.readPaths.push(fieldTextOf(one, 0));
    else if (one.tag === 'of') readAccount(one, uids, found);
  }
  return found;
}

interface KeyFiles {
  readonly lines: FoundSshKey[];
  readonly readPaths: string[];
  readonly denied: string[];
}

/**
 * Parses the output of the process that read an account's files with that account's rights. The account controls the process, so the output is accepted only
 * for that account and for the requested paths. Incomplete output is discarded, and the requested paths are reported as denied.
 */
function readAccount(one: ScriptLine, uids: ReadonlyMap<string, number>, found: KeyFiles): void {
  const account = fieldTextOf(one, 0);
  const requested = new Set(
    fieldTextOf(one, 1)
      .split('\n')
      .filter((path) => path !== ''),
  );
  const output = readScriptOutput(one.fields[2] ?? Buffer.alloc(0));
  if (output === undefined) return void found.denied.push(...Array.from(requested, (path) => shown(path, 1000)));
  let place: Place | undefined;
  for (const said of output) {
    const path = fieldTextOf(said, 0);
    if (said.tag === 'data') {
      if (place !== undefined) found.lines.push(...keysIn(said.fields[0] ?? Buffer.alloc(0), place));
      place = undefined;
    } else if (!requested.has(path)) place = undefined;
    else if (said.tag === 'denied') found.denied.push(shown(path, 1000));
    else if (said.tag === 'missing') found.readPaths.push(path);
    else if (said.tag === 'lines') {
      place = { account, uid: uids.get(account) ?? null, path, modifiedAt: timeOf(fieldTextOf(said, 1)) };
      found.readPaths.push(path);
    }
  }
}

type Place = Pick<FoundSshKey, 'account' | 'uid' | 'path' | 'modifiedAt'>;

function keysIn(content: Buffer, place: Place): FoundSshKey[] {
  return readLines(content).flatMap(({ key }, index): FoundSshKey[] => {
    if (key === undefined) return [];
    return [
      {
        ...place,
        ...described(key),
        kind: 'authorized-key',
        line: index + 1,
        comment: shown(key.comment) || null,
        options: key.options === '' ? null : shown(key.options, 4000),
        passphrase: null,
      },
    ];
  });
}

/** Returns private keys, certificates and key stores. The host's own SSH keys are omitted, because network scans verify these keys. */
export function readFiles(output: readonly ScriptLine[]): Omit<HostReading, 'lines'> {
  const privateKeys: PrivateKeyFile[] = [];
  const certificates: FoundCertificate[] = [];
  const keyStores: FoundKeyStore[] = [];
  const [denied, trustStores]: [string[], string[]] = [[], []];
  let path = '';
  for (const one of output) {
    if (one.tag === 'data') certificates.push({ path, text: one.fields[0]?.toString('base64') ?? '' });
    else path = fieldTextOf(one, 0);
    if (one.tag === 'denied') denied.push(shown(path, 1000));
    else if (one.tag === 'store') keyStores.push(keyStoreOf(one));
    else if (one.tag === 'key' && !SSH_HOST_KEY.test(path)) privateKeys.push(privateKeyOf(one));
    else if (one.tag === 'pem') {
      const found = fieldTextOf(one, 2).match(CERTIFICATE) ?? [];
      if (found.length > MAX_CERTIFICATES) trustStores.push(shown(path, 1000));
      else certificates.push(...found.map((text) => ({ path, text })));
    }
  }
  const readPaths = privateKeys.map((key) => key.path);
  const isCut = output.some(({ tag }) => tag === 'cut');
  return { privateKeys, certificates, keyStores, readPaths, denied, trustStores, isCut };
}

function privateKeyOf(one: ScriptLine): PrivateKeyFile {
  const path = fieldTextOf(one, 0);
  const [account = '', uid, modified = ''] = fieldTextOf(one, 1).split('|');
  const [format = '', beside] = fieldTextOf(one, 2).split('+');
  const known = readPublicKeyLine(fieldTextOf(one, 4));
  return {
    kind: 'private-key',
    account,
    uid: Number(uid),
    path,
    line: null,
    ...(known === undefined ? listedKey(fieldTextOf(one, 5)) : described(known)),
    comment: shown(known?.comment ?? '') || null,
    options: null,
    passphrase: fieldTextOf(one, 3) === 'yes',
    modifiedAt: timeOf(modified),
    format,
    isForSsh: format !== 'PEM' || beside !== undefined || path.includes('/.ssh/'),
  };
}

function described(key: {
  type: string;
  blob: Buffer;
}): Pick<FoundSshKey, 'fingerprint' | 'publicKey' | 'type' | 'bits'> {
  return {
    fingerprint: sshFingerprintOf(key.blob),
    publicKey: publicKeyLine(key),
    type: key.type,
    bits: keyBitsOf(key),
  };
}

/**
 * Parses `256 SHA256:… comment (ED25519)`, which `ssh-keygen -l` prints instead of the public key itself. Certificates, such as `(ED25519-CERT)`, are not keys.
 */
function listedKey(text: string): Pick<FoundSshKey, 'fingerprint' | 'publicKey' | 'type' | 'bits'> {
  const [, bits, fingerprint, name = ''] = /^(\d+) (SHA256:[A-Za-z0-9+/]{43}) .*\(([A-Z0-9-]+)\)\s*$/.exec(text) ?? [];
  const types: Record<string, string> = {
    ED25519: 'ssh-ed25519',
    RSA: 'ssh-rsa',
    DSA: 'ssh-dss',
    ECDSA: `ecdsa-sha2-nistp${bits}`,
    'ED25519-SK': 'sk-ssh-ed25519@openssh.com',
    'ECDSA-SK': 'sk-ecdsa-sha2-nistp256@openssh.com',
  };
  if (isSshCertificateType(name)) return { fingerprint: null, publicKey: null, type: 'unknown', bits: null };
  return {
    fingerprint: fingerprint ?? null,
    publicKey: null,
    type: types[name] ?? 'unknown',
    bits: bits === undefined ? null : Number(bits),
  };
}

function keyStoreOf(one: ScriptLine): FoundKeyStore {
  const [, , , bytes] = fieldTextOf(one, 1).split('|');
  return { path: fieldTextOf(one, 0), format: fieldTextOf(one, 2) as FoundKeyStore['format'], bytes: Number(bytes) };
}

/** Returns an ISO 8601 time, or null for a year after 9999, which ISO 8601 cannot represent and which a host may report. */
function timeOf(seconds: string): string | null {
  return /^\d+$/.test(seconds) && Number(seconds) <= LAST_SECOND
    ? new Date(Number(seconds) * 1000).toISOString()
    : null;
}

/**
 * Matches a complete sshd log line about an accepted login: time, host, program, message. Other sshd messages quote text sent by unauthenticated
 * clients, so a partial match could be forged. The optional suffix is present for certificate logins.
 */
const ACCEPTED =
  /^(?:[A-Z][a-z]{2} +\d{1,2} [\d:]{8}|\S+) \S+ sshd(?:-session)?\[\d+\]: Accepted publickey for (\S+) from (\S+) port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})(?: ID .* \(serial \d+\) CA \S+ SHA256:[A-Za-z0-9+/]{43})?$/;
const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)/;
const OLD = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) /;
const MINUTE_MS = 60_000;

interface HostClock {
  readonly clock: Date;
  /** Offset of local time from UTC, in minutes. */
  readonly ahead: number;
}

/** Prefix of the evidence for a login that was read from a log file. Any account on the host may have written the line. */
const UNVERIFIED = 'unverified, from a log file: ';

/**
 * Returns key-based logins from the sshd log of a host. Lines without a valid timestamp are skipped.
 *
 * @param isJournal true if the lines were read from the journal, false if they were read from log files
 */
export function readKeyUses(log: string, host: HostClock, isJournal: boolean): SshKeyUse[] {
  const start = isJournal ? '' : UNVERIFIED;
  return log.split('\n').flatMap((line): SshKeyUse[] => {
    const [, account, source, fingerprint] = ACCEPTED.exec(line) ?? [];
    const at = loginTimeOf(line, host);
    if (account === undefined || source === undefined || fingerprint === undefined || at === undefined) return [];
    return [{ fingerprint, account, at: at.toISOString(), source, evidence: shown(start + line, 500) }];
  });
}

function loginTimeOf(line: string, { clock, ahead }: HostClock): Date | undefined {
  const [, local, zone] = ISO.exec(line) ?? [];
  if (local !== undefined) return validTime(new Date(`${local}${zone?.replace(/(\d\d)(\d\d)$/, '$1:$2')}`));
  const [, month, day, time] = OLD.exec(line) ?? [];
  if (month === undefined) return undefined;
  const inYear = (year: number) => new Date(Date.parse(`${day} ${month} ${year} ${time} GMT`) - ahead * MINUTE_MS);
  // The traditional format has no year. A timestamp that would be in the future is from the previous year.
  const year = clock.getUTCFullYear();
  const at = inYear(year);
  return validTime(at.getTime() > clock.getTime() + 24 * 60 * MINUTE_MS ? inYear(year - 1) : at);
}

function validTime(time: Date): Date | undefined {
  return Number.isNaN(time.getTime()) ? undefined : time;
}
