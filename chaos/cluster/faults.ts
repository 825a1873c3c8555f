import { setTimeout as sleep } from 'node:timers/promises';
import type { Clients } from './clients.js';
import type { NodeNumber } from './network.js';
import type { Excuse } from './outages.js';
import { until } from '../support/until.js';
import type { Stack } from './stack.js';

const DATABASE_FAULTS = ['crash', 'switch-over', 'isolate'] as const;
const REDIS_FAULTS = ['crash', 'freeze'] as const;
const CUTS = [
  ['is cut off', 'isolate'],
  ['and the others do not reach each other', 'split'],
  ['cannot send to the others', 'silence'],
] as const;
const TAKE_OVER_SECONDS = 180;
const PARTITION_MS = 20_000;
const PAUSE_MS = 2000;
const WRITE_SECONDS = 180;

/** Effect of a fault on writers. */
export interface Injected {
  readonly what: string;
  /** Time from performance.now(). */
  readonly at: number;
  /** Seconds until another machine became the leader; undefined if no failover was expected. */
  readonly takenOverSeconds: number | undefined;
  /** Seconds without a successful write. */
  readonly pauseSeconds: number;
}

/** Injects one fault at a time into the stack and waits until the stack has recovered. */
export class Faults {
  readonly injected: Injected[] = [];
  readonly excuses: Excuse[] = [];

  constructor(
    private readonly stack: Stack,
    private readonly clients: Clients,
    private readonly say: (line: string) => void,
  ) {}

  async databaseFailOver(turn: number): Promise<void> {
    const { postgres, network } = this.stack;
    const kind = DATABASE_FAULTS[turn % DATABASE_FAULTS.length];
    const leader = await postgres.settled();
    const at = performance.now();
    if (kind === 'crash') await postgres.crash(leader);
    else if (kind === 'isolate') this.cut(leader, () => network.isolate(leader));
    else await postgres.switchOver(leader);
    const takenOver = await this.takenOver(at, leader, () => postgres.leaderBeside(leader));
    await this.note(`PostgreSQL ${kind} of n${leader}`, at, takenOver);
    if (kind === 'crash') postgres.restart(leader);
    if (kind === 'isolate') this.heal();
    await postgres.settled();
    await sleep(PAUSE_MS);
  }

  async redisFailOver(turn: number): Promise<void> {
    const { redis } = this.stack;
    const kind = REDIS_FAULTS[turn % REDIS_FAULTS.length];
    const master = await redis.settled();
    const at = performance.now();
    if (kind === 'crash') await redis.crash(master);
    else redis.freeze(master);
    const takenOver = await this.takenOver(at, master, () => redis.master(master));
    await this.note(`Redis ${kind} of n${master}`, at, takenOver);
    if (kind === 'crash') redis.restart(master);
    else redis.resume(master);
    await redis.settled();
  }

  /** Number of kinds of partition. */
  readonly partitions = 2 * CUTS.length;

  /** Isolates the leader or a standby, either from all machines or only from the other two machines, in one or both directions. */
  async partition(turn: number): Promise<void> {
    const { network, postgres } = this.stack;
    const [words, cut] = CUTS[Math.floor(turn / 2) % CUTS.length] ?? CUTS[0];
    const leader = await postgres.settled();
    const isLeader = turn % 2 === 0;
    const node = isLeader ? leader : (network.nodes.find((one) => one !== leader) ?? leader);
    const at = performance.now();
    this.cut(node, () => network[cut](node));
    await sleep(PARTITION_MS);
    await this.note(`${isLeader ? 'the leader' : 'a standby'} n${node} ${words}`, at, undefined);
    this.heal();
    await postgres.settled();
    await sleep(PAUSE_MS);
  }

  /** Kills all programs on the leader's machine at once. */
  async lossOfNode(): Promise<void> {
    const { postgres, network, service } = this.stack;
    const node = await postgres.settled();
    const at = performance.now();
    this.cut(node, () => network.isolate(node));
    await postgres.crash(node);
    for (const part of this.stack.parts(node)) await part.kill();
    const takenOver = await this.takenOver(at, node, () => postgres.leaderBeside(node));
    await this.note(`loss of n${node}`, at, takenOver);
    await sleep(PARTITION_MS);
    this.heal();
    for (const part of this.stack.parts(node).toReversed()) part.start();
    await postgres.settled();
    await this.stack.redis.settled();
    await service.started(node);
    await sleep(PAUSE_MS);
  }

  /** Stops and restarts every program on every machine, one at a time. */
  async rollingRestart(): Promise<void> {
    const at = performance.now();
    for (const node of this.stack.network.nodes) {
      for (const part of this.stack.parts(node)) {
        await part.stop();
        part.start();
        if (this.stack.service.parts(node).includes(part)) await this.stack.service.started(node);
        await this.stack.postgres.settled();
        await this.stack.redis.settled();
      }
      this.say(`       n${node} was restarted, part by part`);
    }
    await this.note('rolling restart of everything', at, undefined);
  }

  private async takenOver(at: number, old: NodeNumber, look: () => Promise<NodeNumber | undefined>): Promise<number> {
    await until(`another one than n${old} to lead`, TAKE_OVER_SECONDS, look);
    return (performance.now() - at) / 1000;
  }

  private cut(node: NodeNumber, how: () => void): void {
    this.excuses.push({ node, from: performance.now(), to: Infinity });
    how();
  }

  private heal(): void {
    this.stack.network.heal();
    for (const excuse of this.excuses) excuse.to = Math.min(excuse.to, performance.now());
  }

  private async note(what: string, at: number, takenOverSeconds: number | undefined): Promise<void> {
    const over = at + (takenOverSeconds ?? 0) * 1000;
    const pauseSeconds = await until('a write', WRITE_SECONDS, async () => this.clients.pauseAfter(at, over));
    this.injected.push({ what, at, takenOverSeconds, pauseSeconds });
    const by = takenOverSeconds === undefined ? '' : `another one leads after ${takenOverSeconds.toFixed(1)} s, `;
    this.say(`       ${what}: ${by}no write for ${pauseSeconds.toFixed(1)} s`);
  }
}
