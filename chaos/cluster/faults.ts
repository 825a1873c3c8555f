import { setTimeout as sleep } from 'node:timers/promises';
import type { Clients } from './clients.js';
import type { NodeNumber } from './network.js';
import type { Excuse } from './outages.js';
import { until } from './part.js';
import type { Stack } from './stack.js';

export const DATABASE_FAULTS = ['crash', 'switch-over', 'isolate'] as const;
export const REDIS_FAULTS = ['crash', 'freeze'] as const;
const TAKE_OVER_SECONDS = 90;
const PARTITION_MS = 25_000;
const PAUSE_MS = 3000;
const WRITE_SECONDS = 60;

/** What one fault did to writers. */
export interface Injected {
  readonly what: string;
  /** Of performance.now(). */
  readonly at: number;
  /** Until another one led, where something was to take over. */
  readonly takenOverSeconds: number | undefined;
  /** Until a write that was sent after the fault was answered. */
  readonly firstWriteSeconds: number;
}

/** Breaks the stack, one thing at a time, and waits each time until it is whole again. */
export class Faults {
  readonly injected: Injected[] = [];
  readonly excuses: Excuse[] = [];

  constructor(
    private readonly stack: Stack,
    private readonly clients: Clients,
    private readonly say: (line: string) => void,
  ) {}

  async databaseFailOver(kind: (typeof DATABASE_FAULTS)[number]): Promise<void> {
    const { postgres, network } = this.stack;
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

  async redisFailOver(kind: (typeof REDIS_FAULTS)[number]): Promise<void> {
    const { redis } = this.stack;
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

  /** Leader or standby is cut off, from all or from the other machines, both ways or one way. */
  async partitions(): Promise<void> {
    const { network, postgres } = this.stack;
    const kinds = [
      ['is isolated', (node: NodeNumber) => network.isolate(node)],
      ['and the others do not reach each other', (node: NodeNumber) => network.split(node)],
      ['cannot send to the others', (node: NodeNumber) => network.silence(node)],
    ] as const;
    for (const [words, cut] of kinds) {
      for (const isLeader of [true, false]) {
        const leader = await postgres.settled();
        const node = isLeader ? leader : (network.nodes.find((one) => one !== leader) ?? leader);
        const at = performance.now();
        this.cut(node, () => cut(node));
        await sleep(PARTITION_MS);
        await this.note(`${isLeader ? 'the leader' : 'a standby'} n${node} ${words}`, at, undefined);
        this.heal();
        await postgres.settled();
        await sleep(PAUSE_MS);
      }
    }
  }

  /** Everything on the machine of the leader dies at once. */
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

  /** Every program of every machine is stopped in order and started again, one after the other. */
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
    const firstWriteSeconds = await until('a write', WRITE_SECONDS, async () => this.clients.firstWriteAfter(at));
    this.injected.push({ what, at, takenOverSeconds, firstWriteSeconds });
    const over = takenOverSeconds === undefined ? '' : `another one leads after ${takenOverSeconds.toFixed(1)} s, `;
    this.say(`       ${what}: ${over}first write after ${firstWriteSeconds.toFixed(1)} s`);
  }
}
