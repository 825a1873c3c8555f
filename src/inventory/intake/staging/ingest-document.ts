import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { AuditService } from '../../../audit/entries/audit.service.js';
import { advisoryLock, confirmRead } from '../../../platform/database/statements.js';
import { Problem } from '../../../platform/errors/problem.js';
import { isWorthAnotherTry } from '../../../platform/errors/database-error.js';
import { type IdempotencyKeys, idempotentUse, type IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { detachBuffer } from '../../../platform/observability/external-memory.js';
import { keepRefs } from '../../catalogue/bom-link/bom-link.js';
import type { Draft, IngestOutcome } from '../../model/document.js';
import { readBody, contentDigest } from './body-reader.js';
import { SENSOR_SCAN } from './sensor-scan-reader.js';
import { editionOf } from '../../judgement/risk-rules/reclassifier.js';
import type { RuleBook } from '../../judgement/risk/rule-book.js';
import { type Arrival, arrivalsOf, underOwnName } from './arrivals.js';
import { recordAssetEvents } from './asset-alert-events.js';
import { RowWriter } from './asset-rows.js';
import { DocumentAssets } from './document-assets.js';
import {
  contradictions,
  entryOf,
  isGoodEnough,
  nothingNew,
  outcomeOf,
  SUPERSEDED,
  together,
} from './document-outcome.js';
import {
  earlierDocument,
  earlierOutcome,
  isSettled,
  isSuperseded,
  knownAssets,
  lockSource,
  markSeen,
  newestOfSameBytes,
  oldestStart,
  outcomeOfSameContent,
  recordDocument,
  recordMerge,
  recordSource,
  vacuumInventory,
} from './document.repository.js';
import type { IngestOrder, OnProgress } from './ingest-order.js';
import { Judge } from './judge.js';
import { foreignRemarks } from './asset-describers.js';
import { merge, scopeOf } from './merge.js';
import { count } from './merge-counts.js';
import { type KnownSource, knownSource } from './source-owner.js';
import { assertRoom } from './reporter-quota.js';
import { keepSourceNames } from './source-names.js';
import type { Succession } from './successions.js';
import { type Staged, Staging } from './staging.js';

const MAX_ATTEMPTS = 4;
/** MIN_VACUUMED_ASSETS is the minimum number of new assets after which tables are vacuumed. With fewer assets, reads are not noticeably slower. */
const MIN_VACUUMED_ASSETS = 5000;
const OPERATION = 'inventory.ingest';

/** Rows that are classified when they are written, with the version and edition of the rules. */
interface JudgedRows {
  readonly rows: RowWriter;
  readonly version: number;
  readonly edition: string;
}

/** A document to be stored, with the source's state in this transaction. */
interface Intake extends Arrival {
  readonly draft: Draft;
  readonly assets: DocumentAssets;
  readonly before: KnownSource;
}

/** Assets that a document created and changed. `changed` includes assets whose state alone changed. */
interface Stored {
  readonly staged: Staged;
  readonly isKnown: boolean;
  readonly updated: number;
  readonly changed: number;
  readonly successions: readonly Succession[];
}

/** RulesChanged is thrown if the rules changed while the document was being classified. The document must then be classified again. */
class RulesChanged extends Error {}

/**
 * Ingests one document. The steps are parse -> identify -> judge -> store -> count, in the order in which `ingestNew` runs them.
 *
 * 1. parse (body-reader.ts): detects the format and reads the document's metadata. The lists are read 32 KB at a time while assets are
 *    identified, so that the parsed document is never completely in memory.
 * 2. identify (document-assets.ts): each asset gets an id, which is a hash of the identifying facts. Mentions of one asset are merged, and
 *    the rows of the asset are encoded (asset-rows.ts). After this step, every fault in the document is known, and nothing has been written.
 * 3. judge (judge.ts, judgement/risk): each asset gets its verdict under the current rules. An asset is classified when its row is written, while the
 *    database processes earlier rows.
 * 4. store (staging.ts, merge.ts): COPY writes new assets to their tables, and possible changes to temporary tables. Set operations merge the changes
 *    into the inventory. The newest document of a source takes precedence, regardless of the order of arrival.
 * 5. count (merge-counts.ts): the differences are added to the running counts.
 *
 * Steps 4 and 5, the document's record, audit entry and alert events are committed in one transaction. Documents are ingested in a separate thread
 * with one connection (imports/ingest-thread.ts).
 */
export class DocumentIngest {
  /**
   * @param limits `mergeLock`: name of the advisory lock under which the threads of this process merge one document at a time; `mergeMs`: time limit of a
   * statement under that lock, in milliseconds; `maxAssets`: maximum number of assets in all sources of a caller without `inventory:write`
   */
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly keys: IdempotencyKeys,
    private readonly book: RuleBook,
    private readonly limits: { readonly mergeLock: string; readonly mergeMs: number; readonly maxAssets: number },
  ) {}

  /**
   * @param confirmedUntil time before which all commits are confirmed (see InstanceHeartbeat.confirmedUntil)
   * @throws Problem if the body cannot be read or is rejected
   */
  async ingest(order: IngestOrder, confirmedUntil: Date | undefined, onProgress: OnProgress): Promise<IngestOutcome> {
    const arrivals = await Promise.all(this.parse(order).map((arrival) => this.underOwnName(arrival)));
    // A body with several documents is rejected before any document is stored.
    if (arrivals.length > 1)
      for (const { source } of arrivals) await knownSource(this.db.manager, source, order.caller);
    const outcomes: IngestOutcome[] = [];
    for (const arrival of arrivals)
      outcomes.push(
        (await this.seeAgain(arrival, confirmedUntil)) ??
          (await this.ingestRepeated(arrival)) ??
          (await this.ingestNew(arrival, onProgress)),
      );
    return together(outcomes);
  }

  /** Returns the arrival under a source name that contains the reporter if the default source belongs to another reporter. */
  private async underOwnName(arrival: Arrival): Promise<Arrival> {
    const own = underOwnName(arrival);
    if (own === undefined) return arrival;
    try {
      await knownSource(this.db.manager, arrival.source, arrival.order.caller);
      return arrival;
    } catch (error) {
      if (error instanceof Problem && error.code === 'source.owned') return own;
      throw error;
    }
  }

  private async ingestNew(arrival: Arrival, onProgress: OnProgress): Promise<IngestOutcome> {
    const draft = arrival.document.draft();
    const assets = new DocumentAssets(draft, arrival.source);
    try {
      await this.identify(assets, arrival);
      const outcome = await this.retried(async () => {
        const judged = await this.judge(assets);
        return this.transaction(async (tx, client) => {
          const found = await this.lookUp(tx, arrival, draft);
          if (found.outcome !== undefined) return found.outcome;
          const intake = { ...arrival, documentId: found.documentId, draft, assets, before: found.before };
          if (await isSuperseded(tx, intake)) {
            draft.warnings.push(SUPERSEDED);
            return this.record(tx, intake);
          }
          const stored = await this.store(tx, client, intake, judged, onProgress);
          await this.count(tx, intake, stored);
          await this.assertRulesHold(tx, judged);
          draft.warnings.push(...contradictions(judged.rows.contradictory));
          return this.record(tx, intake, stored);
        });
      });
      if (outcome.created >= MIN_VACUUMED_ASSETS) await vacuumInventory(this.db);
      return outcome;
    } finally {
      assets.release();
    }
  }

  /**
   * Handles a sensor scan with the same findings as the last scan. Marks the source as seen and writes nothing else, not even the Idempotency-Key, because a
   * repeated call takes the same path. Returns undefined for any other document. No transaction is used, so a document that is stored concurrently counts as
   * later. The response waits for replication if the document was stored within the last hour and may not have been replicated yet.
   */
  private async seeAgain(arrival: Arrival, confirmedUntil: Date | undefined): Promise<IngestOutcome | undefined> {
    if (!isWholeScan(arrival)) return undefined;
    const { manager } = this.db;
    const same = await newestOfSameBytes(manager, arrival, confirmedUntil);
    if (same === undefined) return undefined;
    const known = await this.keys.known(useOf(arrival));
    if (known !== undefined) return earlierOutcome(manager, known);
    if (!same.isSettled || !isGoodEnough(same.outcome, arrival)) return undefined;
    await knownSource(manager, arrival.source, arrival.order.caller, same);
    if (same.isDue) await markSeen(manager, arrival.source.id, same.id);
    if (!same.isConfirmed) await confirmRead(manager);
    return nothingNew(same.outcome, same.id, arrival);
  }

  /** Handles a document without new content. Returns undefined if the content is new, or if the lists must be read to determine whether the content is new. */
  private async ingestRepeated(arrival: Arrival): Promise<IngestOutcome | undefined> {
    if (arrival.document.said === undefined) return undefined;
    return this.transaction(async (tx) => {
      const earlier = await this.claimKey(tx, arrival);
      if (earlier !== undefined) return earlier;
      await lockSource(tx, arrival);
      const before = await knownSource(tx, arrival.source, arrival.order.caller);
      const same = await earlierDocument(tx, arrival);
      if (same?.isNewest === true && isGoodEnough(same.outcome, arrival))
        return nothingNew(same.outcome, same.id, arrival);
      if (same !== undefined || (await isSuperseded(tx, arrival))) return undefined;
      const known = await outcomeOfSameContent(tx, arrival);
      if (known === undefined || !isGoodEnough(known, arrival)) return undefined;
      const outcome = nothingNew(known, arrival.documentId, arrival);
      await recordSource(tx, arrival, before);
      await this.recordWithEntry(tx, arrival, outcome);
      return outcome;
    });
  }

  private parse(order: IngestOrder): Arrival[] {
    const bytes = Buffer.from(order.bytes);
    const documents = readBody(bytes, order);
    return arrivalsOf(order, documents, contentDigest(bytes));
  }

  /** Reads the document's lists outside any transaction, and then frees the bytes, which are not read again. */
  private async identify(assets: DocumentAssets, { order }: Arrival): Promise<void> {
    await assets.identify((ids, referring) => knownAssets(this.db.manager, ids, referring));
    if (!order.bytes.detached) detachBuffer(new Uint8Array(order.bytes));
  }

  private async judge(assets: DocumentAssets): Promise<JudgedRows> {
    const { version, engine } = await this.book.engineNow();
    const rows = new RowWriter(new Judge(assets.all(), engine));
    return { rows, version, edition: editionOf(engine.ruleSet.edition, version) };
  }

  private async store(
    tx: EntityManager,
    client: PoolClient,
    intake: Intake,
    { rows, edition }: JudgedRows,
    onProgress: OnProgress,
  ): Promise<Stored> {
    const { source, draft, before, assets } = intake;
    const mayWrite = intake.order.caller.mayWrite ?? true;
    if (!mayWrite) {
      const reported = { owner: before.owner, sourceId: source.id, received: draft.received, rows: assets.countRows() };
      await assertRoom(tx, reported, this.limits.maxAssets);
    }
    const since = await oldestStart(tx);
    const isKnown = await recordSource(tx, intake, before);
    const staging = new Staging(client, assets, rows, source.id, onProgress);
    const lock = () => advisoryLock(tx, this.limits.mergeLock);
    const staged = await (isKnown ? staging.ofKnownSource(lock) : staging.ofNewSource(lock));
    onProgress({ phase: 'MERGING', done: draft.received, total: draft.received });
    const { whole } = draft;
    const describer = { sourceId: source.id, owner: before.owner, mayWrite };
    const scope = scopeOf(draft, before);
    const limitMs = this.mergeLimitMs(draft.received);
    const merged = await merge(tx, { ...describer, isKnown, whole, scope, edition, limitMs }, staged);
    if (mayRead(intake)) draft.warnings.push(...foreignRemarks(merged.foreign));
    await keepSourceNames(
      tx,
      source.id,
      isKnown,
      assets.spellings((id) => staged.created.has(id)),
    );
    await recordMerge(tx, intake, since);
    return { staged, isKnown, ...merged };
  }

  /** Returns the time limit of a merge statement: the configured limit plus 0.1 ms per asset. */
  private mergeLimitMs(received: number): number {
    return this.limits.mergeMs + received / 10;
  }

  private async count(
    tx: EntityManager,
    { source }: Intake,
    { staged, isKnown, updated, changed, successions }: Stored,
  ): Promise<void> {
    await count(tx, source.id, { ...staged, isKnown, changed });
    if (staged.created.total + updated + successions.length > 0)
      await recordAssetEvents(tx, source, { created: staged.created, changed, successions });
  }

  /**
   * Throws if the rules have changed since the document was classified. Called at the end of the transaction, because the check locks the rules until the
   * commit.
   */
  private async assertRulesHold(tx: EntityManager, { version }: JudgedRows): Promise<void> {
    if (!(await this.book.stillHolds(tx, version))) throw new RulesChanged();
  }

  /** Records the document with its outcome and audit entry. @param stored undefined if the document changed nothing */
  private async record(tx: EntityManager, intake: Intake, stored?: Stored): Promise<IngestOutcome> {
    const { said, serialNumber } = intake.document;
    if (said !== undefined && serialNumber !== null) await keepRefs(tx, said, intake.assets.named());
    const changes = { created: stored?.staged.created.total ?? 0, updated: stored?.updated ?? 0 };
    const full = outcomeOf(intake, changes, intake.before);
    // The numbers of new and updated assets reveal whether other owners report the assets, and whether their descriptions differ.
    const own = { created: stored?.staged.newInSource ?? 0, updated: 0 };
    const outcome = mayRead(intake) ? full : outcomeOf(intake, own, intake.before);
    await this.recordWithEntry(tx, intake, outcome, full);
    return outcome;
  }

  /** @param full the outcome for the audit log, if the outcome for the caller reveals less */
  private async recordWithEntry(
    tx: EntityManager,
    arrival: Arrival,
    outcome: IngestOutcome,
    full = outcome,
  ): Promise<void> {
    await recordDocument(tx, arrival, outcome);
    await this.audit.append(tx, [entryOf(arrival, full)]);
  }

  /** Locks the source and looks up its state. Returns an outcome if there is nothing to store. */
  private async lookUp(tx: EntityManager, arrival: Arrival, draft: Draft) {
    const { documentId, source, order } = arrival;
    const earlier = await this.claimKey(tx, arrival);
    if (earlier !== undefined) return { outcome: earlier };
    await lockSource(tx, arrival);
    const before = await knownSource(tx, source, order.caller);
    const same = await earlierDocument(tx, arrival);
    if (same === undefined) return { before, documentId };
    // Each further scan brings the assets that were missing in the last scan closer to `resolved`.
    if (isWholeScan(arrival) && !(await isSettled(tx, arrival))) return { before, documentId: same.id };
    // If newer documents have been stored since, the same bytes count as new content, unless the document is complete and contains a time.
    if (!same.isNewest && !(draft.whole && draft.time !== null)) return { before, documentId: same.id };
    return { outcome: outcomeOf({ ...arrival, draft, documentId: same.id }, { created: 0, updated: 0 }, before) };
  }

  /** Returns the outcome of an earlier call with the same Idempotency-Key, or undefined if the key has not been used before. */
  private async claimKey(tx: EntityManager, arrival: Arrival): Promise<IngestOutcome | undefined> {
    const resource = await this.keys.earlier(tx, useOf(arrival));
    return resource === undefined ? undefined : earlierOutcome(tx, resource);
  }

  /** Retries `work` if the rules have changed, or after a deadlock or serialization failure. */
  private async retried(work: () => Promise<IngestOutcome | undefined>): Promise<IngestOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const outcome = await work();
        if (outcome !== undefined) return outcome;
      } catch (error) {
        const mayPass = error instanceof RulesChanged || isWorthAnotherTry(error);
        if (attempt === MAX_ATTEMPTS || !mayPass) throw error;
      }
    }
  }

  /** Runs `work` in a transaction. Commits if the result is an outcome, and rolls back if the result is undefined. */
  private async transaction(
    work: (tx: EntityManager, client: PoolClient) => Promise<IngestOutcome | undefined>,
  ): Promise<IngestOutcome | undefined> {
    const runner = this.db.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    try {
      await runner.startTransaction();
      const outcome = await work(runner.manager, client);
      await (outcome === undefined ? runner.rollbackTransaction() : runner.commitTransaction());
      return outcome;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  }
}

function useOf({ order, digest, documentId, part }: Arrival): IdempotentUse | undefined {
  return idempotentUse(order.idempotencyKey, {
    principal: order.caller.id,
    operation: part === 0 ? OPERATION : `${OPERATION} ${part}`,
    body: digest.toString('hex'),
    resource: documentId,
  });
}

/** Reports whether the outcome may reveal what other owners reported. */
function mayRead({ order }: Arrival): boolean {
  return order.caller.mayRead ?? true;
}

/** Reports whether the document is a complete sensor scan. */
function isWholeScan({ document }: Arrival): boolean {
  return document.whole && document.format === SENSOR_SCAN;
}
