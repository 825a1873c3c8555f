import { Canary } from '../pkcs11/canary.js';
import { isFatal } from '../pkcs11/pkcs11-errors.js';
import { KeyDirectory, labelsOf } from '../pkcs11/key-directory.js';
import { faultOf, type KeyProcessFault } from '../pkcs11/key-process-fault.js';
import type {
  CallHandlers,
  ReplyMessage,
  CallMessage,
  FromKeyProcess,
  LastMessage,
  StartMessage,
  ToKeyProcess,
} from './key-process-messages.js';
import { isMlDsa } from '../key-vault.js';
import { decodeOrders, encodeResults, type NumberedOrder, type OrderResult } from './order-codec.js';
import { Pkcs11Token } from '../pkcs11/pkcs11-token.js';
import { SessionPool } from '../pkcs11/session-pool.js';
import { TokenChanges } from '../pkcs11/token-changes.js';
import { TokenDestroyer } from '../pkcs11/token-destroyer.js';
import { TokenGenerator } from '../pkcs11/token-generator.js';
import { SoftwareKeys } from '../pkcs11/software-keys.js';
import { TokenLog } from '../pkcs11/token-log.js';
import { TokenRowMark } from '../pkcs11/token-row-mark.js';
import { TokenSealer } from '../pkcs11/token-sealer.js';
import { type SigningParts, TokenSigner } from '../pkcs11/token-signer.js';

/** Time without signatures after which the token is probed with the canary key. */
const QUIET_MS = 1500;
const CANARY_CHECK_MS = 1000;
const SLOWEST_TICK_MS = 1000;
const FASTEST_TICK_MS = 25;
/** Maximum number of results per message, and the time for which the first result may wait for further results. */
const FULL_MESSAGE = 16;
const LINGER_MS = 2;
/** Time limit for sending the last message before the process exits without it. */
const FAREWELL_MS = 500;

/** Components that exist once the token is open. */
interface Running {
  readonly pool: SessionPool;
  readonly signer: TokenSigner;
  readonly handlers: CallHandlers;
  readonly canary: Canary;
  readonly changes: TokenChanges;
}

/** KeyProcess loads the HSM library. The parent process sends orders, receives the results, and replaces the key process. */
class KeyProcess {
  private running?: Running;
  private results: OrderResult[] = [];
  private lastGood = 0;
  private ended = false;
  /** Number of orders in progress. */
  private underWay = 0;
  /** Set once this process cannot find a key. Every later order is then returned to the parent with this fault, without being started. */
  private unseen?: KeyProcessFault;
  /** True if the parent sends no further orders. */
  private leaving = false;
  private isProbing = false;
  private lingering?: NodeJS.Timeout;

  async receive(message: ToKeyProcess): Promise<void> {
    if (this.ended) return;
    if (message instanceof Uint8Array)
      this.signAll(Buffer.from(message.buffer, message.byteOffset, message.byteLength));
    else if (message.kind === 'start') await this.start(message);
    else if (message.kind === 'call') await this.run(message);
    else {
      this.leaving = true;
      this.leaveWhenDone();
    }
  }

  private async start({ library, tokenLabel, pin, sessions, deadlineMs }: StartMessage): Promise<void> {
    const token = await Pkcs11Token.open(library, tokenLabel);
    const session = token.openSession();
    try {
      token.login(session, pin);
    } catch (error) {
      this.end(isFatal(error) ? 'fatal' : 'login', `C_Login: ${faultOf(error).message}`);
      return;
    }
    // If the token limits the number of sessions, one session is reserved for the directory and one for key generation.
    const size = Math.max(1, Math.min(sessions, (token.identity.maxSessions ?? Infinity) - 2));
    const pool = new SessionPool(token, size);
    const parts = { token, pool, directory: new KeyDirectory(token, session), limitMs: deadlineMs };
    const signer = new TokenSigner(parts);
    const changes = new TokenChanges(() => void this.parts());
    const canary = new Canary(parts);
    const running = { pool, signer, handlers: callHandlers(parts, signer, changes, canary), canary, changes };
    setInterval(() => this.tick(pool), Math.max(FASTEST_TICK_MS, Math.min(SLOWEST_TICK_MS, deadlineMs / 4)));
    await running.canary.prepare();
    await running.canary.probe();
    this.running = running;
    setInterval(() => void this.probe(running), CANARY_CHECK_MS);
    send({ kind: 'ready', tokenLabel: token.identity.label, sessions: size });
  }

  private signAll(block: Buffer): void {
    for (const numbered of decodeOrders(block)) void this.sign(numbered);
  }

  private async sign({ id, order }: NumberedOrder): Promise<void> {
    this.underWay += 1;
    try {
      const bytes = await this.parts().signer.sign(order);
      this.lastGood = performance.now();
      this.report({ id, outcome: 'done', bytes });
    } catch (error) {
      const fault = await this.settle(error);
      this.report({ id, outcome: fault.outcome, bytes: Buffer.from(fault.message) });
      if (fault.fatal) this.end('fatal', fault.message);
    }
    this.underWay -= 1;
    this.leaveWhenDone();
  }

  private async run({ id, name, order }: CallMessage): Promise<void> {
    this.underWay += 1;
    try {
      const handler = this.parts().handlers[name] as (order: CallMessage['order']) => Promise<ReplyMessage['answer']>;
      send({ kind: 'reply', id, outcome: 'done', detail: '', answer: await handler(order) });
    } catch (error) {
      const { outcome, message: detail, fatal } = await this.settle(error);
      const failure: ReplyMessage = { kind: 'reply', id, outcome, detail };
      if (fatal) this.end('fatal', detail, failure);
      else send(failure);
    }
    this.underWay -= 1;
    this.leaveWhenDone();
  }

  /** Returns the components. Throws if the token is not open, or if this process is about to be replaced by a process that sees all keys. */
  private parts(): Running {
    if (this.unseen) throw this.unseen;
    if (!this.running) throw new Error('the token is not open yet');
    return this.running;
  }

  /** Exits when the orders in progress are done. A key that this process cannot find must not cause the loss of other orders. */
  private leaveWhenDone(): void {
    if (this.leaving && this.underWay === 0) this.end('fatal', this.unseen?.message ?? 'it was asked to stop');
  }

  /**
   * Returns the fault of a failed order. A removed token causes the same errors as a missing key or bytes that cannot be decrypted. A probe with the canary key
   * distinguishes these cases.
   */
  private async settle(error: unknown): Promise<ReturnType<typeof faultOf>> {
    const fault = faultOf(error);
    if (fault.outcome === 'unseen') this.unseen ??= fault;
    const doubtful = fault.outcome === 'key-missing' || fault.outcome === 'not-authentic';
    if (!doubtful || !this.running) return fault;
    try {
      await this.running.canary.probe();
      return fault;
    } catch (probeError) {
      return faultOf(probeError);
    }
  }

  /** Probes a token that has not signed recently. The probe does not run during a token change, because the probe could make the change fail in SoftHSM. */
  private async probe({ canary, changes }: Running): Promise<void> {
    if (this.isProbing || this.unseen || performance.now() - this.lastGood < QUIET_MS) return;
    this.isProbing = true;
    try {
      await changes.runNext(() => canary.probe());
      this.lastGood = performance.now();
    } catch (error) {
      const { outcome, message } = faultOf(error);
      if (outcome !== 'unseen') this.end('fatal', `canary: ${message}`);
    }
    this.isProbing = false;
  }

  private tick(pool: SessionPool): void {
    if (pool.overdue()) this.end('stuck', 'a call to the HSM exceeded its deadline');
    else send({ kind: 'alive' });
  }

  /**
   * Sends results in batches, because a message costs as much as processing a signature. While orders are waiting for a session, a result may be delayed
   * without leaving a session idle. If no orders are waiting, the result is sent in this iteration of the event loop.
   */
  private report(result: OrderResult): void {
    const count = this.results.push(result);
    if (!this.running?.pool.crowded || count === FULL_MESSAGE) setImmediate(() => this.flush());
    else if (count === 1) this.lingering = setTimeout(() => this.flush(), LINGER_MS);
  }

  private flush(): void {
    clearTimeout(this.lingering);
    if (this.ended || this.results.length === 0) return;
    send(encodeResults(this.results));
    this.results = [];
  }

  /** Exits without C_Finalize, which crashes while calls are running, and without exit handlers for the same reason. */
  end(why: LastMessage['why'], detail: string, reply?: ReplyMessage): void {
    if (this.ended) return;
    this.ended = true;
    setTimeout(die, FAREWELL_MS);
    const last: LastMessage = { kind: 'last', why, detail, results: encodeResults(this.results), reply };
    if (process.connected) process.send?.(last, die);
  }
}

function callHandlers(parts: SigningParts, signer: TokenSigner, changes: TokenChanges, canary: Canary): CallHandlers {
  const generator = new TokenGenerator(parts, signer);
  const destroyer = new TokenDestroyer(parts);
  const sealer = new TokenSealer(parts, changes);
  const software = new SoftwareKeys(parts.token, sealer);
  const log = new TokenLog(parts, signer, generator, changes, canary);
  const rows = new TokenRowMark(parts, changes);
  return {
    generate: async ({ type, identity, ...order }) => {
      const key = { ckaId: Buffer.from(order.ckaId), labels: labelsOf(identity) };
      return isMlDsa(type)
        ? software.generate({ ...key, type })
        : changes.run(() => generator.generate({ ...key, type }));
    },
    destroy: ({ ckaId, identity }) =>
      changes.run(async () => destroyer.destroy({ ckaId: Buffer.from(ckaId), labels: labelsOf(identity) })),
    signSealed: (order) => software.sign(order),
    seal: (order) => sealer.seal(order),
    unseal: (order) => sealer.unseal(order),
    newSealingKey: async () => ({ ckaId: await sealer.newKey() }),
    holdings: ({ label }) => Promise.resolve({ keys: parts.directory.holdings(label) }),
    generateLogKey: (order) => log.generateKey(order),
    logAnchor: (order) => log.anchor(order),
    rowMark: (order) => rows.mark(order),
    signCheckpoint: (order) => log.sign(order),
    acceptLog: (order) => log.accept(order),
  };
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

function send(message: FromKeyProcess): void {
  if (process.connected) process.send?.(message);
}

const keyProcess = new KeyProcess();
process.on('message', (message: ToKeyProcess) => {
  keyProcess.receive(message).catch((error: unknown) => keyProcess.end('fatal', faultOf(error).message));
});
// A terminal or service manager signals the whole process group. The parent decides when this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', die);
