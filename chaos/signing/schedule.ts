import { Random } from './random.js';

/** Kinds of faults with their descriptions. */
export const FAULTS = {
  'kill-api': 'kill -9 of an api process',
  'kill-worker': 'kill -9 of a worker process',
  'kill-relays': 'kill -9 of every process that relays: both apis, both workers',
  'kill-key-process': 'kill -9 of the key process of one service process',
  'kill-key-processes': 'kill -9 of every key process at once',
  'freeze-worker': 'a worker at work stopped for longer than its lease, then resumed: late outcomes',
  'freeze-api': 'an api at work stopped for longer than its lease, then resumed: late outcomes',
  'redis-flush': 'FLUSHALL',
  'redis-freeze': 'Redis stopped for 2 to 5 s, then resumed',
  'redis-kill': 'kill -9 of Redis, started again empty',
  'postgres-stop': 'immediate stop of PostgreSQL, started again (crash recovery)',
  'postgres-cut': 'pg_terminate_backend on all connections',
  'hsm-error': 'C_Sign answers an error',
  'hsm-slow': 'C_Sign takes longer than the deadline',
  'hsm-flip': 'C_Sign gives a signature with one wrong bit',
  'hsm-hang': 'C_Sign never returns',
  'hsm-crash': 'the HSM library crashes its process',
  'rolling-restart': 'SIGTERM of every process, one after the other',
} as const;
export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[];

export interface PlannedFault {
  readonly number: number;
  readonly kind: FaultKind;
  /** Milliseconds after the load began. */
  readonly at: number;
  /** Separate generator for the choices of this fault (process, duration), so that the choices do not depend on other faults. */
  readonly random: Random;
}

/**
 * Draws faults from the seed and spreads them over the load: all kinds in shuffled order, repeatedly, so that
 * each kind occurs about equally often and in changing combinations.
 */
export function drawSchedule(
  seed: number,
  seconds: number,
  count: number,
  kinds: readonly FaultKind[] = FAULT_KINDS,
): PlannedFault[] {
  const random = new Random(seed);
  const drawn: FaultKind[] = [];
  while (drawn.length < count) drawn.push(...random.shuffled(kinds));
  const first = 1500;
  const gap = (seconds * 1000 - first) / count;
  return drawn.slice(0, count).map((kind, index) => ({
    number: index + 1,
    kind,
    at: Math.round(first + gap * (index + random.between(0, 0.8))),
    random: new Random(Math.floor(random.next() * 2 ** 31)),
  }));
}

/** Returns the schedule as text, which is identical for the same seed. */
export function scheduleText(schedule: readonly PlannedFault[]): string {
  return schedule.map(({ kind, at }) => `${(at / 1000).toFixed(1)} ${kind}`).join(', ');
}
