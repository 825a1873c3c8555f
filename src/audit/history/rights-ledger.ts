import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../access/caller.js';
import { newId, timeOfId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { PRODUCT_BUILD } from '../../platform/observability/product-version.js';
import { RowSeals } from '../../platform/sealing/row-seals.js';
import { GrowingRoot, type Range } from '../../verifier/merkle-tree.js';
import { AuditSeals } from '../entries/audit-seals.js';
import { AuditService } from '../entries/audit.service.js';
import { ENTRY_COLUMNS, type EntryRow } from '../entries/entry-row.js';
import { acceptedDamage, addLeaf, withoutLeaves } from './accepted-damage.js';
import { RightsHistory, type RightsHistoryState } from './rights-history.js';
import { applyEntry, RIGHTS_ACTIONS } from './rights-rules.js';
import { ForkedLeaves, type VerifiedLeaf, VerifiedLeaves } from './verified-leaves.js';

/** Maximum number of leaves between the stored snapshot and the end of the log. A process reads this many leaves in a fraction of a second. */
const SNAPSHOT_LEAVES = 5000;
/**
 * Maximum age of the newest signed entry. If the newest signed entry is older, the service writes an entry to verify that new entries are still being signed.
 */
const MAX_SILENCE_MS = 30_000;
/** Maximum time that a call waits for the log to be read. The first read takes minutes per ten million leaves. */
const READ_PATIENCE_MS = 8000;
/** Time in milliseconds within which `recent` does not read the log again. */
const RECENT_MS = 5000;
const PROBE_PATIENCE_MS = 8000;
const PROBE_EVERY_MS = 200;

/** Actions by which an operator accepts the log as stored in the database. */
const ACCEPTANCES: ReadonlySet<string> = new Set(['audit-log.accepted', 'log.rolled-back']);

const LEDGER: Actor = { kind: 'system', id: 'rights-ledger', name: 'rights ledger' };

/** The content of rights_snapshot. */
interface SnapshotContent {
  /** Version of the product. Another version may derive different rights from the same entries. */
  readonly build: string;
  readonly size: number;
  /** Hashes of the full subtrees, hex. */
  readonly tree: readonly string[];
  readonly history: RightsHistoryState;
  readonly newestAt: number;
}

/** The part of the log that has been read, up to a signed tree. */
class LedgerState {
  /** Leaves whose entries were changed or removed, in order, without leaves that an operator accepted. */
  damaged: Range[] = [];

  constructor(
    readonly tree = new GrowingRoot(),
    readonly history = new RightsHistory(),
    /** Time of the newest entry according to the clock of the process that wrote the entry, in milliseconds. */
    public newestAt = 0,
  ) {}

  visit({ index, entry }: VerifiedLeaf): void {
    if (entry === undefined) {
      addLeaf(this.damaged, index);
      return;
    }
    if (entry.kind !== 'entry') return;
    this.newestAt = Math.max(this.newestAt, timeOfId(entry.id));
    const isNew = applyEntry(this.history, entry);
    if (isNew && ACCEPTANCES.has(entry.action))
      this.damaged = withoutLeaves(this.damaged, acceptedDamage(entry.detail));
  }
}

/**
 * RightsLedger reads the rights from the audit log. The ledger covers every entry up to the newest tree that the HSM signed. An entry that is hidden by a
 * view, removed or changed is detected as missing, so the ledger can also prove that an event, such as the end of a session, did not occur.
 */
@Injectable()
export class RightsLedger {
  private readonly logger = new Logger(RightsLedger.name);
  private state: LedgerState | undefined;
  private reading: Promise<LedgerState> | undefined;
  private storedSize = 0;
  /** The history of the last complete read, which remains available during a later read. */
  private seen: RightsHistory | undefined;
  private seenAt = 0;
  private seenFault: Problem | undefined;
  private trying: Promise<void> | undefined;
  private triedAt = 0;

  constructor(
    private readonly db: DataSource,
    private readonly leaves: VerifiedLeaves,
    private readonly seals: RowSeals,
    private readonly audit: AuditService,
    private readonly entrySeals: AuditSeals,
  ) {
    seals.learnBy(this);
  }

  /**
   * Returns the current rights according to the log.
   *
   * @throws Problem `audit-log.incomplete` if entries were changed or removed, `audit-log.behind` if new entries are not being signed
   */
  async current(): Promise<RightsHistory> {
    let state = await this.readInTime();
    if (Date.now() - state.newestAt > MAX_SILENCE_MS) state = await this.probed();
    assertIntact(state);
    return this.withUnsigned(state);
  }

  /**
   * Returns the rights according to the log, including entries that have not been signed yet. Unlike `current`, does not write an entry and wait for its
   * signature if the newest entry is old.
   *
   * @throws Problem `audit-log.incomplete`, `audit-log.behind` while the log is read for the first time, and the Problems of the HSM
   */
  async latest(): Promise<RightsHistory> {
    const state = await this.readInTime();
    assertIntact(state);
    return this.withUnsigned(state);
  }

  /** Returns the rights according to the signed entries, without the entries of the last second. Throws the Problems of `current`. */
  async signed(): Promise<RightsHistory> {
    const state = await this.readInTime();
    assertIntact(state);
    return state.history;
  }

  private remember(state: LedgerState): void {
    this.seen = state.history;
    this.seenAt = Date.now();
    this.seenFault = faultOf(state);
    this.seals.learn(state.history, this.seenFault);
  }

  /**
   * Returns the rights according to a state of the log that is at most 30 seconds old, for facts that are final. If the log cannot be read, returns the
   * last state that this process read, or undefined if there is none. For five seconds after a failure, calls do not wait for another attempt.
   */
  async recent(): Promise<RightsHistory | undefined> {
    if (Date.now() - Math.max(this.seenAt, this.triedAt) < RECENT_MS) return this.seen;
    this.trying ??= this.readInTime()
      .then(async (state) => this.seals.learn(await this.withUnsigned(state), faultOf(state)))
      .catch((error: unknown) => this.logger.warn(`unable to read the audit log: ${String(error)}`))
      .then(() => {
        this.triedAt = Date.now();
        this.trying = undefined;
      });
    if (Date.now() - this.seenAt > MAX_SILENCE_MS) await this.trying;
    return this.seen;
  }

  /** The fault that this process found when it last read the log: entries were changed or removed, or the HSM has no record of the log. */
  get fault(): Problem | undefined {
    return this.seenFault;
  }

  /**
   * Returns what this process has read of the log, which may be stale. Until the first read has completed, starts a read and returns undefined. Does not
   * wait for the HSM.
   */
  known(): RightsHistory | undefined {
    if (this.seen === undefined) this.upToDate().catch(() => undefined);
    return this.seen;
  }

  private async readInTime(): Promise<LedgerState> {
    const reading = this.upToDate();
    const state = await Promise.race([reading, sleep(READ_PATIENCE_MS, undefined, { ref: false })]);
    if (state !== undefined) return state;
    // The read continues in the background. The next call receives its errors.
    reading.catch(() => undefined);
    throw behind('The audit log is still being read');
  }

  /** Returns the leaves whose entries were changed or removed and that no operator accepted. Rejects if the log differs from the signed log. */
  async damagedLeaves(): Promise<readonly Range[]> {
    return (await this.upToDate()).damaged;
  }

  /** Reads new entries, and stores a snapshot if many leaves were read since the last snapshot. */
  async keep(): Promise<void> {
    const state = await this.upToDate();
    const { tree, history, damaged, newestAt } = state;
    if (damaged.length > 0 || tree.size - this.storedSize < SNAPSHOT_LEAVES) return;
    const hashes = tree.hashes().map((hash) => hash.toString('hex'));
    const snapshot = { build: PRODUCT_BUILD, size: tree.size, tree: hashes, history: history.state(), newestAt };
    const content = JSON.stringify(snapshot satisfies SnapshotContent);
    await this.db.query(
      `INSERT INTO rights_snapshot (size, content, seal) VALUES ($1, $2, $3)
       ON CONFLICT ("only") DO UPDATE SET size = excluded.size, content = excluded.content, seal = excluded.seal`,
      [tree.size, content, this.seals.sealOfText(content)],
    );
    this.storedSize = tree.size;
  }

  /**
   * Returns the history including entries that have not been signed yet; signing takes about a second. Unsigned entries could be hidden, so the ledger does
   * not retain them.
   */
  private async withUnsigned({ tree, history }: LedgerState): Promise<RightsHistory> {
    const rows: EntryRow[] = await this.db.query(
      `SELECT ${ENTRY_COLUMNS} FROM (SELECT entry_id FROM log_waiting UNION SELECT entry_id FROM log_leaf WHERE index >= $1) w
         JOIN audit_entry e ON e.id = w.entry_id WHERE e.action = ANY($2) ORDER BY e.id`,
      [tree.size, RIGHTS_ACTIONS],
    );
    const genuine = rows.filter((row) => this.entrySeals.verifies(row, row.seal));
    if (genuine.length === 0) return history;
    const later = new RightsHistory(history.state());
    for (const row of genuine) applyEntry(later, row);
    return later;
  }

  private async upToDate(): Promise<LedgerState> {
    const size = await this.signedSize();
    const [damaged] = this.state?.damaged ?? [];
    // The damaged entry was restored, so the log is read again from the stored snapshot. A snapshot is never taken from a damaged log.
    if (damaged !== undefined && (await this.leaves.isIntact(damaged.from))) this.state = undefined;
    let state = await this.read();
    // A read in progress may have started with a smaller tree.
    while (state.tree.size < size) state = await this.read();
    return state;
  }

  /** Returns the number of signed leaves. Rows cannot be verified while the HSM has no record of the log. */
  private async signedSize(): Promise<number> {
    try {
      return await this.leaves.signedSize();
    } catch (error) {
      if (error instanceof Problem && error.code === 'audit-log.incomplete') {
        this.seenFault = error;
        this.seals.learn(this.seen ?? new RightsHistory(), error);
      }
      throw error;
    }
  }

  private read(): Promise<LedgerState> {
    this.reading ??= this.follow().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private async follow(): Promise<LedgerState> {
    const begun = (await this.begun()) ?? new LedgerState();
    this.state = undefined;
    try {
      // Callers have the history of the last read, which must not contain leaves whose root has not been compared.
      const unconfirmed: VerifiedLeaf[] = [];
      const isShared = begun.history === this.seen;
      await this.leaves.follow(begun.tree, (leaf) => (isShared ? void unconfirmed.push(leaf) : begun.visit(leaf)));
      for (const leaf of unconfirmed) begun.visit(leaf);
      this.state = begun;
      this.remember(begun);
      return begun;
    } catch (error) {
      if (!(error instanceof ForkedLeaves)) throw error;
      this.logger.warn(
        `reading the audit log from its first entry, because the stored snapshot cannot be used: ${String(error)}`,
      );
      return this.fromTheStart();
    }
  }

  /** Returns what this process has read, or the stored snapshot if the snapshot is far ahead. */
  private async begun(): Promise<LedgerState | undefined> {
    const { state } = this;
    const size = state?.tree.size ?? 0;
    if (state !== undefined && (await this.leaves.signedSize()) - size < SNAPSHOT_LEAVES) return state;
    const stored = await this.stored();
    return stored !== undefined && stored.tree.size > size && !state?.damaged.length ? stored : state;
  }

  private async fromTheStart(): Promise<LedgerState> {
    const state = new LedgerState();
    try {
      await this.leaves.follow(state.tree, (leaf) => state.visit(leaf));
    } catch (cause) {
      if (!(cause instanceof ForkedLeaves)) throw cause;
      const detail = `The audit log in the database differs from the log that was signed: ${cause.message}. An operator must check "log" in /actuator/health and run "sealwright-admin doctor".`;
      throw new Problem('unavailable', 'audit-log.incomplete', detail, { cause });
    }
    this.state = state;
    this.remember(state);
    return state;
  }

  private async stored(): Promise<LedgerState | undefined> {
    const [row]: { content: string; seal: Buffer }[] = await this.db.query(
      'SELECT content, seal FROM rights_snapshot LIMIT 1',
    );
    if (row === undefined || !this.seals.isSeal(row.seal, row.content)) return undefined;
    const { build, size, tree, history, newestAt } = JSON.parse(row.content) as SnapshotContent;
    if (build !== PRODUCT_BUILD) return undefined;
    this.storedSize = size;
    const hashes = tree.map((hash) => Buffer.from(hash, 'hex'));
    return new LedgerState(GrowingRoot.of(size, hashes), new RightsHistory(history), newestAt);
  }

  /** Writes an entry and waits until the entry is signed, to detect that new entries are kept out of the log. */
  private async probed(): Promise<LedgerState> {
    const target = { kind: 'service', id: 'rights-ledger' };
    const began = Date.now();
    await this.db.transaction((tx) =>
      this.audit.append(tx, [{ action: 'audit-log.probed', actor: LEDGER, target, correlation: newId() }]),
    );
    while (Date.now() - began < PROBE_PATIENCE_MS) {
      await sleep(PROBE_EVERY_MS);
      const state = await this.upToDate();
      if (began - state.newestAt < MAX_SILENCE_MS) return state;
    }
    throw behind('New entries of the audit log are not being signed');
  }
}

function faultOf({ damaged }: LedgerState): Problem | undefined {
  const [first] = damaged;
  if (first === undefined) return undefined;
  const detail = `The entry of leaf ${first.from} of the audit log was modified or deleted, so current rights cannot be verified. An operator must restore the entry, or accept the log with "sealwright-admin accept-log".`;
  return new Problem('unavailable', 'audit-log.incomplete', detail);
}

function assertIntact(state: LedgerState): void {
  const fault = faultOf(state);
  if (fault !== undefined) throw fault;
}

function behind(why: string): Problem {
  const detail = `${why}, so current rights cannot be verified. Retry after 10 seconds. If the problem persists, an operator must check "log" in /actuator/health.`;
  return new Problem('unavailable', 'audit-log.behind', detail, { retryAfter: 10 });
}
