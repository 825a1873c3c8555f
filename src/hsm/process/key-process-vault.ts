import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config/config.js';
import {
  type DestroyOrder,
  type GeneratedKey,
  KeyVault,
  type SealOrder,
  type SignOrder,
  type UnsealOrder,
  type VaultHealth,
  type AcceptedLog,
  type CheckpointAnswer,
  type CheckpointOrder,
  type HeldKey,
  type LogAnchor,
  type RowMarkOrder,
  type NewLogOrder,
} from '../key-vault.js';
import type { CallOutcome } from '../pkcs11/key-process-fault.js';
import type { CallName, KeyProcessCalls, ReplyMessage, CallMessage, LastMessage } from './key-process-messages.js';
import { digestContext } from '../../formats/pkcs/digest-context.js';
import { KeyProcessSupervisor } from './key-process.supervisor.js';
import { decodeResults, encodeOrders } from './order-codec.js';
import type { GenerateOrder } from '../pkcs11/token-generator.js';
import { FairQueue } from '../../platform/database/fair-queue.js';
import type { RefusedPins } from './refused-pins.repository.js';
import { assertKeyNamed, assertSealable, assertSignable, vaultProblem } from './vault-problem.js';

/** Maximum number of pending orders in this process. Further orders are rejected with `hsm.busy`. */
const MAX_WAITING = 10_000;
/**
 * Minimum window. The window is the maximum number of orders in the key process at a time. If the key process ends, the orders in the process are lost, so the
 * window is only as large as necessary to keep the process busy.
 */
const MIN_WINDOW = 32;
const WINDOW_PER_SESSION = 8;
/**
 * Time for which orders wait for the key process to start or to be replaced before they fail with `hsm.unavailable`. The wait ends early if a process fails
 * to start.
 */
const GRACE_MS = 5000;
/** Calls without side effects. These calls are repeated if the key process ends before it responds, or reports that the token does not respond. */
const READS: ReadonlySet<CallName> = new Set(['logAnchor', 'holdings', 'unseal']);
/** Maximum number of repetitions of a call: one in the process that reported the fault, which may then end, and one in its replacement. */
const MAX_REPEATS = 2;
const FIRST_START_MS = 5000;
const DRAIN_STEP_MS = 20;

type Work =
  | { readonly kind: 'sign'; readonly order: SignOrder; readonly resolve: (signature: Buffer) => void }
  | {
      readonly kind: 'call';
      readonly call: Pick<CallMessage, 'name' | 'order'>;
      readonly resolve: (answer: unknown) => void;
    };
type Pending = Work & {
  readonly id: number;
  readonly reject: (error: Error) => void;
  handedAt: number;
  /** True if the order was returned by a process that did not find the key. */
  wasUnseen: boolean;
  /** Number of times that the order was repeated because the key process could not complete it. */
  repeats: number;
};

/** KeyProcessVault is a vault whose keys are in a PKCS #11 token, accessed through one supervised key process. */
export class KeyProcessVault extends KeyVault implements OnModuleInit, OnApplicationShutdown {
  private readonly supervisor: KeyProcessSupervisor;
  private readonly deadlineMs: number;
  private readonly window: number;
  private readonly queue = new FairQueue<Pending>();
  private readonly inFlight = new Map<number, Pending>();
  /** Orders that are sent to the next process before all other orders. */
  private readonly unseen: Pending[] = [];
  /** True if the process cannot see a key that another process created. The process has been told to stop and gets no further orders. */
  private leaving = false;
  private lastId = 0;
  private flushing = false;
  private started = false;
  /** Runs while callers wait for a process to start. */
  private grace?: NodeJS.Timeout;
  private firstMessage: () => void = () => undefined;

  /** Without `pins`, only this process remembers which PIN the token rejected. */
  constructor(
    config: Config,
    private readonly pins?: RefusedPins,
  ) {
    super();
    this.deadlineMs = config.pkcs11DeadlineMs;
    this.window = Math.max(MIN_WINDOW, config.pkcs11Sessions * WINDOW_PER_SESSION);
    this.supervisor = new KeyProcessSupervisor(
      config,
      {
        ready: () => this.onReady(),
        results: (block) => this.onResults(block),
        onReply: (message) => this.onReply(message),
        lost: (why, wasUp) => this.onLost(why, wasUp),
      },
      pins,
    );
  }

  async onModuleInit(): Promise<void> {
    await this.start();
  }

  /** Starts the key process and waits a few seconds for its first message. The service also starts without an HSM. */
  async start(): Promise<void> {
    if (this.started) return;
    this.started = true;
    const news = new Promise<void>((resolve) => (this.firstMessage = resolve));
    this.grace = setTimeout(() => this.endGrace(), GRACE_MS);
    this.supervisor.start();
    await Promise.race([news, sleep(FIRST_START_MS, undefined, { ref: false })]);
  }

  /** Waits until accepted orders are done, but at most for the time limit of one call. */
  async onApplicationShutdown(): Promise<void> {
    const until = performance.now() + this.deadlineMs;
    while (this.queue.size + this.unseen.length + this.inFlight.size > 0 && performance.now() < until)
      await sleep(DRAIN_STEP_MS);
    this.supervisor.stop();
    this.endGrace();
    this.rejectAll([...this.inFlight.values()]);
    this.inFlight.clear();
  }

  async sign(order: SignOrder): Promise<Buffer> {
    assertSignable(order);
    if (order.key.sealed) return this.signSealed(order, order.key.sealed);
    return await new Promise((resolve, reject) => this.accept({ kind: 'sign', order, resolve }, reject));
  }

  async generate(order: GenerateOrder): Promise<GeneratedKey> {
    assertKeyNamed(order);
    const { publicKey, sealed, evidence } = await this.run('generate', order);
    return { publicKey: Buffer.from(publicKey), sealed: sealed && Buffer.from(sealed), evidence };
  }

  async destroy(order: DestroyOrder): Promise<number> {
    assertKeyNamed(order);
    return (await this.run('destroy', order)).destroyed;
  }

  async seal(order: SealOrder): Promise<Buffer> {
    assertSealable(order);
    return Buffer.from(await this.run('seal', order));
  }

  async unseal(order: UnsealOrder): Promise<Buffer> {
    return Buffer.from(await this.run('unseal', order));
  }

  async newSealingKey(): Promise<Buffer> {
    return Buffer.from((await this.run('newSealingKey', {})).ckaId);
  }

  async holdings(label?: string): Promise<readonly HeldKey[]> {
    return (await this.run('holdings', { label })).keys;
  }

  async generateLogKey(order: NewLogOrder): Promise<GeneratedKey> {
    const { publicKey, evidence } = await this.run('generateLogKey', order);
    return { publicKey: Buffer.from(publicKey), evidence };
  }

  async logAnchor(origin: string): Promise<LogAnchor | undefined> {
    return (await this.run('logAnchor', { origin })).anchor;
  }

  async rowMark(order: RowMarkOrder): Promise<number | undefined> {
    return (await this.run('rowMark', order)).since;
  }

  signCheckpoint(order: CheckpointOrder): Promise<CheckpointAnswer> {
    return this.run('signCheckpoint', order);
  }

  async acceptLog(order: AcceptedLog): Promise<LogAnchor | undefined> {
    return (await this.run('acceptLog', order)).anchor;
  }

  async retryPin(): Promise<number> {
    return (await this.pins?.forgetAll()) ?? 0;
  }

  health(): VaultHealth {
    const waiting = this.queue.size + this.unseen.length + this.inFlight.size;
    return { ...this.supervisor.health(), waiting };
  }

  private async signSealed(order: SignOrder, sealed: Buffer): Promise<Buffer> {
    const { ckaId, identity, publicKey } = order.key;
    const { algorithm, digest, message = digest } = order;
    const context = order.message === undefined ? digestContext(algorithm) : Buffer.alloc(0);
    return Buffer.from(await this.run('signSealed', { ckaId, identity, publicKey, sealed, message, context }));
  }

  private async run<Name extends CallName>(
    name: Name,
    order: KeyProcessCalls[Name]['order'],
  ): Promise<KeyProcessCalls[Name]['answer']> {
    const answer = await new Promise((resolve, reject) =>
      this.accept({ kind: 'call', call: { name, order }, resolve }, reject),
    );
    return answer as KeyProcessCalls[Name]['answer'];
  }

  private accept(work: Work, reject: (error: Error) => void): void {
    const refusal = this.refusal();
    if (refusal) {
      // Deferred to a later iteration of the event loop, because a caller that retries immediately would otherwise prevent the next start.
      setImmediate(() => reject(refusal));
      return;
    }
    this.lastId = (this.lastId + 1) >>> 0;
    const caller = work.kind === 'sign' ? (work.order.caller ?? '') : '';
    this.queue.push(caller, { ...work, id: this.lastId, reject, handedAt: 0, wasUnseen: false, repeats: 0 });
    this.scheduleFlush();
  }

  private refusal(): Error | undefined {
    if (this.queue.size >= MAX_WAITING) return vaultProblem('busy', `${MAX_WAITING} orders are waiting`);
    return this.supervisor.up || this.grace ? undefined : this.unavailable();
  }

  /** Sends the orders of one iteration of the event loop in one message. */
  private scheduleFlush(): void {
    if (this.flushing) return;
    this.flushing = true;
    setImmediate(() => {
      this.flushing = false;
      this.flush();
    });
  }

  private flush(): void {
    const free = this.window - this.inFlight.size;
    if (free <= 0 || this.leaving || !this.supervisor.up) return;
    const now = performance.now();
    const returned = this.unseen.splice(0, free);
    const handed = [...returned, ...this.queue.take(free - returned.length)];
    if (handed.length === 0) return;
    for (const pending of handed) {
      pending.handedAt = now;
      this.inFlight.set(pending.id, pending);
    }
    // Sign orders are sent first, because after an order to create a key, the process reports a missing key as `unseen`.
    const orders = handed.filter((pending) => pending.kind === 'sign');
    if (orders.length > 0) this.supervisor.send(encodeOrders(orders));
    for (const pending of handed)
      if (pending.kind === 'call')
        this.supervisor.send({ kind: 'call', id: pending.id, ...pending.call } as CallMessage);
  }

  private onReady(): void {
    this.firstMessage();
    this.endGrace();
    this.flush();
  }

  private onResults(block: Buffer): void {
    for (const { id, outcome, bytes } of decodeResults(block)) {
      const pending = this.take(id);
      if (pending?.kind !== 'sign') continue;
      if (outcome === 'done') pending.resolve(bytes);
      else this.fail(pending, outcome, bytes.toString());
    }
    this.flush();
  }

  private onReply({ id, outcome, detail, answer }: ReplyMessage): void {
    const pending = this.take(id);
    if (pending?.kind !== 'call') return;
    if (outcome === 'done' && answer) pending.resolve(answer);
    else this.fail(pending, outcome === 'done' ? 'unavailable' : outcome, detail);
    this.flush();
  }

  /**
   * Rejects a failed order. An `unseen` order was not started, so it is passed to the next process. The first order that a process returns as `unseen` is the
   * order whose key was not found; that order is rejected after the second attempt. All later orders were returned only because of the first order.
   */
  private fail(pending: Pending, outcome: Exclude<CallOutcome, 'done'>, detail: string): void {
    if (outcome === 'unavailable' && isRepeatable(pending)) return this.repeat(pending);
    if (outcome !== 'unseen') return pending.reject(vaultProblem(outcome, detail));
    const isFirst = !this.leaving;
    if (isFirst) this.supervisor.send({ kind: 'leave' });
    this.leaving = true;
    if (isFirst && pending.wasUnseen) return pending.reject(vaultProblem('unavailable', detail));
    pending.wasUnseen ||= isFirst;
    this.unseen.push(pending);
  }

  private repeat(pending: Pending): void {
    pending.repeats += 1;
    this.unseen.push(pending);
  }

  private take(id: number): Pending | undefined {
    const pending = this.inFlight.get(id);
    this.inFlight.delete(id);
    return pending;
  }

  private onLost(why: LastMessage['why'], wasUp: boolean): void {
    this.leaving = false;
    const lost = [...this.inFlight.values()];
    this.inFlight.clear();
    const overdue = performance.now() - this.deadlineMs;
    const { detail } = this.health();
    for (const pending of lost) {
      const isOverdue = why === 'stuck' && pending.handedAt <= overdue;
      if (wasUp && !isOverdue && isRepeatable(pending)) this.repeat(pending);
      else pending.reject(vaultProblem(isOverdue ? 'deadline' : 'unavailable', detail));
    }
    this.firstMessage();
    if (wasUp && !this.supervisor.final) this.grace = setTimeout(() => this.endGrace(), GRACE_MS);
    else this.endGrace();
  }

  /** Ends the grace period. Afterwards, orders are rejected immediately unless the process is running. */
  private endGrace(): void {
    clearTimeout(this.grace);
    this.grace = undefined;
    if (!this.supervisor.up) this.rejectAll([...this.unseen.splice(0), ...this.queue.clear()]);
  }

  private rejectAll(pending: Pending[]): void {
    for (const { reject } of pending) reject(this.unavailable());
  }

  private unavailable(): Error {
    return vaultProblem('unavailable', this.health().detail);
  }
}

function isRepeatable(pending: Pending): boolean {
  return pending.kind === 'call' && READS.has(pending.call.name) && pending.repeats < MAX_REPEATS;
}
