import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Role, Slot } from './cluster.js';
import type { Environment } from './environment.js';
import { signal } from './processes.js';
import type { Random } from './random.js';
import type { FaultKind, PlannedFault } from './schedule.js';

/** The targets of faults. */
export interface Target {
  readonly environment: Environment;
  readonly cluster: Cluster;
  /** SVC_PKCS11_DEADLINE_MS of the service. */
  readonly deadlineMs: number;
}

/** A fault that was injected. */
export interface Injected {
  readonly kind: FaultKind;
  /** Times at which the fault began and ended, in milliseconds since 1970. */
  readonly begun: number;
  readonly cleared: number;
  /** Target of the fault, for the run's log. */
  readonly hit: string;
}

type Injector = (target: Target, random: Random) => Promise<string>;
type Resource = 'postgres' | 'redis' | 'hsm' | 'roll';

/** Time between the deadline and the takeover of the request by another worker. */
const LEASE_SLACK_MS = 3000;
/**
 * Maximum time that a fault waits for a target, which is a signature in the shim or a running process. Other faults may have stopped all processes.
 */
const MEET_LIMIT_MS = 120_000;
const CKR = { functionFailed: '0x6', generalError: '0x5', deviceError: '0x30', deviceRemoved: '0x32' };

const INJECTORS: Record<FaultKind, { readonly holds: readonly Resource[]; readonly inject: Injector }> = {
  'kill-api': { holds: [], inject: async ({ cluster }, random) => killOne(await oneOf(cluster, 'api', random)) },
  'kill-worker': { holds: [], inject: async ({ cluster }, random) => killOne(await oneOf(cluster, 'worker', random)) },
  'kill-relays': { holds: [], inject: ({ cluster }) => killAll(cluster) },
  'kill-key-process': {
    holds: [],
    inject: ({ cluster }, random) => keyProcessesKilled(() => [random.pick(cluster.slots)]),
  },
  'kill-key-processes': { holds: [], inject: ({ cluster }) => keyProcessesKilled(() => cluster.slots) },
  'freeze-worker': { holds: ['hsm'], inject: (target, random) => freeze(target, 'worker', random) },
  'freeze-api': { holds: ['hsm'], inject: (target, random) => freeze(target, 'api', random) },
  'redis-flush': {
    holds: ['redis'],
    inject: ({ environment }) =>
      environment.onRedis(async (redis) => `${await redis.dbsize()} keys, ${await redis.flushall()}`),
  },
  'redis-freeze': { holds: ['redis'], inject: ({ environment }, random) => freezeRedis(environment, random) },
  'redis-kill': { holds: ['redis'], inject: ({ environment }, random) => killRedis(environment, random) },
  'postgres-stop': { holds: ['postgres'], inject: ({ environment }, random) => stopPostgres(environment, random) },
  'postgres-cut': {
    holds: ['postgres'],
    inject: ({ environment }) => environment.cutConnections().then(() => 'every connection'),
  },
  'hsm-error': {
    holds: ['hsm'],
    inject: ({ environment }, random) =>
      spoil(environment, `err ${random.pick(Object.values(CKR))} ${upTo(random, 4)}`),
  },
  'hsm-slow': {
    holds: ['hsm'],
    inject: ({ environment, deadlineMs }) => spoil(environment, `slow ${deadlineMs + 1000} 2`),
  },
  'hsm-flip': { holds: ['hsm'], inject: ({ environment }, random) => spoil(environment, `flip ${upTo(random, 3)}`) },
  'hsm-hang': { holds: ['hsm'], inject: ({ environment }) => spoil(environment, 'hang 1') },
  'hsm-crash': { holds: ['hsm'], inject: ({ environment }) => spoil(environment, 'crash 1') },
  'rolling-restart': { holds: ['roll'], inject: ({ cluster }) => roll(cluster) },
};

/** Injects faults. Faults that affect the same store are injected one after another. */
export class FaultInjector {
  readonly injected: Injected[] = [];
  /** Faults that could not be injected, each with the reason. */
  readonly failed: string[] = [];
  private readonly turns = new Map<Resource, Promise<unknown>>();

  constructor(private readonly target: Target) {}

  async inject({ kind, random, number }: PlannedFault): Promise<void> {
    const { holds, inject } = INJECTORS[kind];
    const turn = Promise.all(holds.map((resource) => this.turns.get(resource) ?? Promise.resolve())).then(async () => {
      const begun = Date.now();
      try {
        const hit = await inject(this.target, random);
        this.injected.push({ kind, begun, cleared: Date.now(), hit });
      } catch (error) {
        this.failed.push(`fault ${number} (${kind}): ${String(error)}`);
      }
    });
    for (const resource of holds) this.turns.set(resource, turn);
    await turn;
  }
}

function upTo(random: Random, max: number): number {
  return 1 + Math.floor(random.next() * max);
}

/** Returns a running process of this role, or the next process of this role to start. */
async function oneOf(cluster: Cluster, role: Role, random: Random): Promise<Slot> {
  const slots = cluster.of(role);
  const working = slots.filter(({ up, frozen }) => up && !frozen);
  return random.pick(working.length > 0 ? working : await present(() => slots.filter(({ pid }) => pid !== undefined)));
}

function killOne(slot: Slot): string {
  slot.kill();
  return slot.name;
}

async function killAll(cluster: Cluster): Promise<string> {
  const found = await present(() => cluster.slots.filter(({ pid }) => pid !== undefined));
  return found.map(killOne).join(', ');
}

async function keyProcessesKilled(slots: () => readonly Slot[]): Promise<string> {
  const hit = await present(() => slots().filter((slot) => signal(slot.keyProcess, 'SIGKILL')));
  return `of ${hit.map(({ name }) => name).join(', ')}`;
}

/** Waits up to MEET_LIMIT_MS for a target. */
async function present<T>(find: () => T[]): Promise<T[]> {
  const deadline = Date.now() + MEET_LIMIT_MS;
  for (;;) {
    const found = find();
    if (found.length > 0) return found;
    if (Date.now() > deadline) throw new Error(`nothing to hit within ${MEET_LIMIT_MS} ms`);
    await sleep(50);
  }
}

/**
 * Slows signatures down, so that the process is certain to have signatures in progress, and then freezes the process for longer than a lease. Other processes
 * take over the frozen process's requests. After the frozen process resumes, its outcomes arrive late.
 */
async function freeze({ environment, cluster, deadlineMs }: Target, role: Role, random: Random): Promise<string> {
  const slow = Math.round(deadlineMs * 0.4);
  environment.shim.fault(`slow ${slow} 12`);
  await sleep(Math.min(800, slow * 0.7));
  const slot = await oneOf(cluster, role, random);
  const { pid } = slot;
  slot.frozen = signal(pid, 'SIGSTOP');
  environment.shim.fault('');
  await sleep(deadlineMs + LEASE_SLACK_MS + 4000);
  // The process may have been killed and replaced, so only the frozen process is resumed.
  const resumed = slot.pid === pid && signal(pid, 'SIGCONT');
  if (slot.pid === pid) slot.frozen = false;
  return `${slot.name}${resumed ? '' : ', which was killed meanwhile'}`;
}

async function freezeRedis(environment: Environment, random: Random): Promise<string> {
  const ms = Math.round(random.between(2000, 5000));
  await environment.signalRedis('SIGSTOP');
  await sleep(ms);
  await environment.signalRedis('SIGCONT');
  return `${ms} ms`;
}

async function killRedis(environment: Environment, random: Random): Promise<string> {
  await environment.signalRedis('SIGKILL');
  await sleep(random.between(200, 2500));
  await environment.restartRedis();
  return 'it comes back empty';
}

async function stopPostgres(environment: Environment, random: Random): Promise<string> {
  await environment.stopPostgres();
  await sleep(random.between(100, 2000));
  await environment.restartPostgres();
  return 'it recovers from its log';
}

/** Sets a fault and waits until a signature has encountered it. */
async function spoil(environment: Environment, line: string): Promise<string> {
  environment.shim.fault(line);
  const deadline = Date.now() + MEET_LIMIT_MS;
  const left = (): string => readFileSync(environment.shim.environment.SHIM_CONTROL, 'utf8').trim();
  while (left() !== '' && Date.now() < deadline) await sleep(50);
  const unmet = left();
  environment.shim.fault('');
  if (unmet === line) throw new Error(`no signature met "${line}" within ${MEET_LIMIT_MS} ms`);
  return unmet === '' ? line : `${line}; left over: ${unmet}`;
}

async function roll(cluster: Cluster): Promise<string> {
  for (const slot of cluster.slots) {
    await slot.stop();
    const deadline = Date.now() + MEET_LIMIT_MS;
    while (!slot.up && Date.now() < deadline) await sleep(50);
  }
  return 'all four processes';
}
