import { Injectable } from '@nestjs/common';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { isFailing } from '../work/background-job.js';
import { BackgroundJobs } from '../work/background-jobs.js';
import { InstanceHeartbeat } from './heartbeat.js';
import { type InstanceJobs, InstanceRepository } from './instance.repository.js';

/** Time after which a process is considered to have died or to be unable to write. */
export const MISSED_AFTER_MS = 15_000;
/** Time for which a missing process is reported. Later, the process is assumed to have been stopped or replaced by an operator. */
const NAMED_FOR_MS = 15 * 60_000;
/** Maximum clock offset. Larger offsets are noticeable in displayed times and cause IDs of different processes to sort incorrectly. */
const MAX_CLOCK_OFFSET_MS = 2000;
const MAX_NAMED = 5;

type Seen = ReturnType<InstanceHeartbeat['seen']>[number];

/** InstanceIndicators reports the health of all processes from their rows: background workers, failing jobs and clock offsets. */
@Injectable()
export class InstanceIndicators {
  constructor(
    private readonly heartbeat: InstanceHeartbeat,
    instances: InstanceRepository,
    jobs: BackgroundJobs,
    indicators: HealthIndicators,
  ) {
    indicators.add('workers', async () => workersAmong(this.heartbeat.seen()));
    indicators.add('background', async () => ({
      ...backgroundAmong(await instances.jobs()),
      facts: { jobs: jobs.states() },
    }));
    indicators.add('clock', async () => clocksOf(this.heartbeat.seen()));
    indicators.add('schema', async () => schemaOf(this.heartbeat.migrationTrouble));
  }
}

/** workersAmong returns DOWN if no process runs background work. Asynchronous and scheduled work then waits. */
export function workersAmong(seen: readonly Seen[]): Indication {
  const working = seen.filter(({ role, agoMs }) => role !== 'api' && agoMs <= MISSED_AFTER_MS);
  const missed = seen.filter(({ agoMs }) => agoMs > MISSED_AFTER_MS && agoMs <= NAMED_FOR_MS);
  const names = missed.map((one) => `${nameOf(one)} (${Math.round(one.agoMs / 1000)} s)`);
  const tail = missed.length === 0 ? '' : `; no heartbeat from: ${firstOf(names, ', ')}`;
  if (working.length > 0)
    return {
      status: 'UP',
      detail: `${working.length} ${working.length === 1 ? 'process does' : 'processes do'} background work${tail}`,
    };
  return {
    status: 'DOWN',
    detail: `no process does background work, so asynchronous and scheduled work is waiting; start one with SVC_ROLE worker or all${tail}`,
  };
}

/** backgroundAmong returns DOWN if background jobs of a process fail repeatedly. The detail lists each job with its last error. */
export function backgroundAmong(instances: readonly InstanceJobs[]): Indication {
  const present = instances.filter(({ agoMs }) => agoMs <= MISSED_AFTER_MS);
  const failing = present.flatMap((one) =>
    one.jobs.filter(isFailing).map(({ name, consecutiveFailures, lastError }) => {
      return `${name} of ${nameOf(one)} failed ${consecutiveFailures} times in a row: ${lastError}`;
    }),
  );
  if (failing.length > 0) return { status: 'DOWN', detail: firstOf(failing, '; ') };
  const count = present.reduce((sum, { jobs }) => sum + jobs.length, 0);
  return { status: 'UP', detail: `no failing jobs (${count} jobs in ${present.length} processes)` };
}

/** Joins the first items and adds the number of omitted items. */
function firstOf(texts: readonly string[], separator: string): string {
  const more = texts.length - MAX_NAMED;
  return texts.slice(0, MAX_NAMED).join(separator) + (more > 0 ? `${separator}and ${more} more` : '');
}

/** Returns DOWN if the database lost migrations while the process was running. The process continues, because the tables may still exist. */
function schemaOf(trouble: string | undefined): Indication {
  return trouble === undefined
    ? { status: 'UP', detail: 'all migrations of this version are applied' }
    : { status: 'DOWN', detail: trouble };
}

/** clocksOf returns DOWN if the clock of a process differs from the database clock by more than two seconds. The detail identifies the process. */
export function clocksOf(seen: readonly Seen[]): Indication {
  const present = seen.filter(({ agoMs }) => agoMs <= MISSED_AFTER_MS);
  const wrong = present.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > MAX_CLOCK_OFFSET_MS);
  if (wrong.length === 0)
    return { status: 'UP', detail: `all clocks are within ${MAX_CLOCK_OFFSET_MS / 1000} s of the database clock` };
  const named = wrong.slice(0, MAX_NAMED).map((one) => `${nameOf(one)} is ${offset(one.clockOffsetMs)}`);
  return { status: 'DOWN', detail: `${named.join(', ')} the database clock; synchronize the clocks with NTP` };
}

function offset(ms: number): string {
  return `${(Math.abs(ms) / 1000).toFixed(1)} s ${ms > 0 ? 'ahead of' : 'behind'}`;
}

function nameOf({ role, host, pid }: Pick<Seen, 'role' | 'host' | 'pid'>): string {
  return `${role} ${host}:${pid}`;
}
