import type { SshKeyUse } from '../../platform/inbox/inbox-messages.js';
import { shown } from './scripts.js';

const ACCEPTED = /Accepted publickey for (\S+) from (\S+) port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})/;
const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)/;
const OLD = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) /;
const MINUTE_MS = 60_000;

interface HostClock {
  readonly clock: Date;
  /** Minutes that local time is ahead of UTC. */
  readonly ahead: number;
}

/** Logins with keys, as sshd wrote them to the host's log. A line without a readable time is left out. */
export function readKeyUses(log: string, host: HostClock): SshKeyUse[] {
  return log.split('\n').flatMap((line): SshKeyUse[] => {
    const [, account, source, fingerprint] = ACCEPTED.exec(line) ?? [];
    const at = timeOf(line, host);
    if (account === undefined || source === undefined || fingerprint === undefined || at === undefined) return [];
    return [{ fingerprint, account, at: at.toISOString(), source, evidence: shown(line, 500) }];
  });
}

function timeOf(line: string, { clock, ahead }: HostClock): Date | undefined {
  const [, local, zone] = ISO.exec(line) ?? [];
  if (local !== undefined) return validTime(new Date(`${local}${zone?.replace(/(\d\d)(\d\d)$/, '$1:$2')}`));
  const [, month, day, time] = OLD.exec(line) ?? [];
  if (month === undefined) return undefined;
  const inYear = (year: number) => new Date(Date.parse(`${day} ${month} ${year} ${time} GMT`) - ahead * MINUTE_MS);
  // The old form has no year: a time that is still to come was last year's.
  const year = clock.getUTCFullYear();
  const at = inYear(year);
  return validTime(at.getTime() > clock.getTime() + 24 * 60 * MINUTE_MS ? inYear(year - 1) : at);
}

function validTime(time: Date): Date | undefined {
  return Number.isNaN(time.getTime()) ? undefined : time;
}
