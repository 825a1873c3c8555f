import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { AuditService } from '../../audit/entries/audit.service.js';
import { isWorthAnotherTry } from '../../platform/database/database-error.js';
import { advisoryLock } from '../../platform/database/advisory-lock.js';
import { type IdempotencyKeys, idempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { detachBuffer } from '../../platform/memory/detach-buffer.js';
import { editionOf } from '../risk-rules/reclassifier.js';
import type { RuleBook } from '../risk/rule-book.js';
import { keepRefs } from '../bom-link/element-refs.js';
import { recordAssetEvents } from './asset-alert-events.js';
import { AssetRows } from './asset-rows.js';
import { arrivalsOf } from './arrivals.js';
import { readBody } from '../readers/body-reader.js';
import { uuidArray } from './copy-rows.js';
import { DocumentAssets } from './document-assets.js';
import { entryOf, isGoodEnough, nothingNew, outcomeOf, SUPERSEDED, together } from './document-outcome.js';
import type { CdxComponent, Draft } from '../model/document.js';
import type { IngestOrder, IngestProgress } from './ingest-order.js';
import type { IngestOutcome } from '../model/ingest-outcome.js';
import {
  type Arrival,
  earlierDocument,
  holdSource,
  isSuperseded,
  oldestStart,
  recordDocument,
  recordMerge,
  recordSource,
  saidBefore,
} from './document.repository.js';
import { type Merged, merge } from './merge.js';
import { scopeOf } from './place-scope.js';
import { knownSource } from './source-owner.js';
import { Staging, STAGING } from './staging.js';
import { makeVisible } from './visibility.js';

const MAX_ATTEMPTS = 4;
/** New assets: so many are felt by whoever reads them first. */
const MANY = 5000;
const OPERATION = 'inventory.ingest';

interface Intake extends Arrival {
  readonly draft: Draft;
  readonly assets: DocumentAssets;
  readonly rows: AssetRows;
  readonly tell: (progress: IngestProgress) => void;
  /** By which the rows were judged. */
  readonly rules: { readonly version: number; readonly edition: string };
}

/** The rules were changed meanwhile: the document is judged again. */
class RulesChanged extends Error {}

/** Takes one document into the inventory, in one transaction: all of it or nothing. Runs in a thread of its own. */
export class DocumentIntake {
  /** Connections that have the staging tables. */
  private readonly prepared = new WeakSet<PoolClient>();

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly keys: IdempotencyKeys,
    private readonly book: RuleBook,
    private readonly turn: string,
  ) {}

  /** @throws Problem when the document cannot be read or was refused. */
  async take(order: IngestOrder, tell: (progress: IngestProgress) => void): Promise<IngestOutcome> {
    const bytes = Buffer.from(order.bytes);
    const digest = createHash('sha256').update(bytes).digest();
    const arrivals = arrivalsOf(order, readBody(bytes, order), digest);
    // Nothing is taken of a body of which another part is refused.
    if (arrivals.length > 1)
      for (const { source } of arrivals) await knownSource(this.db.manager, source, order.caller);
    const outcomes: IngestOutcome[] = [];
    for (const arrival of arrivals) outcomes.push(await this.takeOne(arrival, tell));
    return together(outcomes);
  }

  private async takeOne(arrival: Arrival, tell: Intake['tell']): Promise<IngestOutcome> {
    const { said } = arrival.document;
    const known = said === undefined ? undefined : await this.write((tx) => this.takeKnown(tx, arrival));
    if (known !== undefined) return known;
    const outcome = await this.takeUnknown(arrival, tell);
    if (outcome.created >= MANY) await makeVisible(this.db);
    return outcome;
  }

  private async takeUnknown(arrival: Arrival, tell: Intake['tell']): Promise<IngestOutcome> {
    const draft = arrival.document.draft();
    const assets = new DocumentAssets(draft, arrival.source);
    try {
      // Before it keeps anybody waiting. Nothing is read after that.
      await assets.read((ids) => this.knownComponents(ids));
      if (!arrival.order.bytes.detached) detachBuffer(new Uint8Array(arrival.order.bytes));
      return await this.takeAssets({ ...arrival, draft, assets, tell });
    } finally {
      assets.release();
    }
  }

  /** Of assets that are there. */
  private async knownComponents(ids: readonly string[]): Promise<ReadonlyMap<string, CdxComponent>> {
    const rows = (await this.db.query('SELECT id, component FROM asset WHERE id = ANY($1::uuid[])', [
      uuidArray(ids),
    ])) as { id: string; component: CdxComponent }[];
    return new Map(rows.map(({ id, component }) => [id, component]));
  }

  private async takeAssets(known: Omit<Intake, 'rows' | 'rules'>): Promise<IngestOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      const { version, engine } = await this.book.engineNow();
      const rows = new AssetRows(known.assets, engine);
      const rules = { version, edition: editionOf(engine.ruleSet.edition, version) };
      try {
        const outcome = await this.write((tx, client) => this.takeNew(tx, client, { ...known, rows, rules }));
        if (outcome !== undefined) return outcome;
      } catch (error) {
        const mayPass = error instanceof RulesChanged || isWorthAnotherTry(error);
        if (attempt === MAX_ATTEMPTS || !mayPass) throw error;
      }
    }
  }

  /** Commits what has an outcome. */
  private async write<Outcome>(
    work: (tx: EntityManager, client: PoolClient) => Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> {
    const runner = this.db.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    try {
      if (!this.prepared.has(client)) await runner.query(STAGING);
      this.prepared.add(client);
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

  /** What needs no look at the assets of the document, because all that it says was said before. Undefined when that is not so. */
  private async takeKnown(tx: EntityManager, arrival: Arrival): Promise<IngestOutcome | undefined> {
    const earlier = await this.claimKey(tx, arrival);
    if (earlier !== undefined) return earlier;
    await holdSource(tx, arrival);
    const before = await knownSource(tx, arrival.source, arrival.order.caller);
    const repeated = await earlierDocument(tx, arrival);
    if (repeated?.isNewest === true && isGoodEnough(repeated.outcome, arrival))
      return nothingNew(repeated.outcome, repeated.id, arrival);
    if (repeated !== undefined || (await isSuperseded(tx, arrival))) return undefined;
    const said = await saidBefore(tx, arrival);
    if (said === undefined || !isGoodEnough(said, arrival)) return undefined;
    const outcome = nothingNew(said, arrival.documentId, arrival);
    await recordSource(tx, arrival, before);
    await this.record(tx, arrival, outcome);
    return outcome;
  }

  private async takeNew(tx: EntityManager, client: PoolClient, given: Intake): Promise<IngestOutcome> {
    const earlier = await this.claimKey(tx, given);
    if (earlier !== undefined) return earlier;
    await holdSource(tx, given);
    const before = await knownSource(tx, given.source, given.order.caller);
    const repeated = await earlierDocument(tx, given);
    const intake = repeated === undefined ? given : { ...given, documentId: repeated.id };
    const { draft, source } = intake;
    if (repeated !== undefined && (repeated.isNewest || (draft.whole && draft.time !== null)))
      return outcomeOf(intake, { created: 0, updated: 0 }, before);
    const superseded = await isSuperseded(tx, intake);
    let merged: Merged = { created: 0, updated: 0 };
    if (superseded) {
      draft.warnings.push(SUPERSEDED);
    } else {
      const since = await oldestStart(tx);
      const isKnown = await recordSource(tx, intake, before);
      const staging = new Staging(client, intake.assets, intake.rows, source.id, intake.tell);
      const turn = () => advisoryLock(tx, this.turn);
      const written = await (isKnown ? staging.ofKnownSource(turn) : staging.ofNewSource(turn));
      const { whole, received } = draft;
      intake.tell({ phase: 'MERGING', done: received, total: received });
      const scope = scopeOf(draft, before);
      merged = await merge(tx, { sourceId: source.id, isKnown, whole, scope, rules: intake.rules.edition, ...written });
      await recordMerge(tx, intake, since);
      if (!(await this.book.stillHolds(tx, intake.rules.version))) throw new RulesChanged();
      if (merged.created + merged.updated > 0) await recordAssetEvents(tx, source, written.created);
    }
    const { said, serialNumber } = intake.document;
    if (said !== undefined && serialNumber !== null) await keepRefs(tx, said, intake.assets.named());
    const outcome = outcomeOf(intake, merged, before);
    await this.record(tx, intake, outcome);
    return outcome;
  }

  private async record(tx: EntityManager, arrival: Arrival, outcome: IngestOutcome): Promise<void> {
    await recordDocument(tx, arrival, outcome);
    await this.audit.append(tx, [entryOf(arrival, outcome)]);
  }

  /** The outcome of the earlier call with the same Idempotency-Key. */
  private async claimKey(
    tx: EntityManager,
    { order, digest, documentId, part }: Arrival,
  ): Promise<IngestOutcome | undefined> {
    const { idempotencyKey, caller } = order;
    const use = idempotentUse(idempotencyKey, {
      principal: caller.id,
      operation: part === 0 ? OPERATION : `${OPERATION} ${part}`,
      body: digest.toString('hex'),
      resource: documentId,
    });
    const resource = await this.keys.earlier(tx, use);
    if (resource === undefined) return undefined;
    const [row] = (await tx.query('SELECT outcome FROM inventory_document WHERE id = $1', [resource])) as {
      outcome: IngestOutcome;
    }[];
    return row?.outcome;
  }
}
