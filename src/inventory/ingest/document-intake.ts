import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { AuditService } from '../../audit/audit.service.js';
import { isWorthAnotherTry } from '../../platform/database/database-error.js';
import { newId } from '../../platform/database/new-id.js';
import type { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import { hashId } from './asset-identity.js';
import { instant, type InventoryRows, rowsOf } from './asset-rows.js';
import { readBody } from './body-reader.js';
import type { Draft } from './draft.js';
import type { IngestOrder } from './ingest-order.js';
import type { IngestOutcome, Remark } from './ingest-outcome.js';
import { type Merged, merge } from './merge.js';
import { stage, STAGING } from './staging.js';

const MOST_ATTEMPTS = 4;
const OPERATION = 'inventory.ingest';

interface Intake {
  readonly order: IngestOrder;
  readonly draft: Draft;
  readonly source: { readonly id: string; readonly name: string };
  readonly digest: Buffer;
  readonly rows: InventoryRows;
  readonly documentId: string;
}

/** Takes one document into the inventory, in one transaction: all of it or nothing. Runs in a thread of its own. */
export class DocumentIntake {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly keys: IdempotencyKeys,
    private readonly engine: RiskEngine,
  ) {}

  /** @throws Problem when the document cannot be read or was refused. */
  async take(order: IngestOrder): Promise<IngestOutcome> {
    const bytes = Buffer.from(order.bytes);
    const digest = createHash('sha256').update(bytes).digest();
    const draft = readBody(bytes, order.kind, order.mode);
    const name = order.source ?? draft.source ?? defaultSource(order, draft, digest);
    const source = { id: hashId('source', name), name };
    const rows = rowsOf(draft, name, this.engine);
    const intake = { order, draft, source, digest, rows, documentId: newId() };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.write(intake);
      } catch (error) {
        if (attempt === MOST_ATTEMPTS || !isWorthAnotherTry(error)) throw error;
      }
    }
  }

  private async write(intake: Intake): Promise<IngestOutcome> {
    const runner = this.db.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    try {
      await runner.query(STAGING);
      await runner.startTransaction();
      const outcome = await this.inTransaction(runner, client, intake);
      await runner.commitTransaction();
      return outcome;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  }

  private async inTransaction(runner: QueryRunner, client: PoolClient, intake: Intake): Promise<IngestOutcome> {
    const tx = runner.manager;
    const earlier = await this.claimKey(tx, intake);
    if (earlier !== undefined) return earlier;
    // One document of a source at a time: what is missing is told by the newest.
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [intake.source.id]);
    const [repeated] = (await tx.query('SELECT id FROM inventory_document WHERE source_id = $1 AND digest = $2', [
      intake.source.id,
      intake.digest,
    ])) as { id: string }[];
    if (repeated !== undefined) return outcomeOf(intake, { created: 0, updated: 0 }, repeated.id);
    const superseded = await isSuperseded(tx, intake);
    let merged: Merged = { created: 0, updated: 0 };
    if (superseded) {
      intake.draft.warnings.push(SUPERSEDED);
    } else {
      await stage(client, intake.rows);
      await recordSource(tx, intake);
      merged = await merge(tx, intake.source.id, this.engine.ruleSet.edition, intake.draft.whole);
    }
    const outcome = outcomeOf(intake, merged, intake.documentId);
    await recordDocument(tx, intake, outcome);
    await this.audit.append(tx, [entryOf(intake, outcome)]);
    return outcome;
  }

  /** The outcome of the earlier call with the same Idempotency-Key. */
  private async claimKey(tx: EntityManager, { order, digest, documentId }: Intake): Promise<IngestOutcome | undefined> {
    const { idempotencyKey, caller } = order;
    const use = this.keys.use(idempotencyKey, caller.id, OPERATION, digest.toString('hex'), documentId);
    if (use === undefined) return undefined;
    const [resource] = await this.keys.claim(tx, [use]);
    if (resource === documentId) return undefined;
    await this.keys.assertSameBody(use, tx);
    const [row] = (await tx.query('SELECT outcome FROM inventory_document WHERE id = $1', [resource])) as {
      outcome: IngestOutcome;
    }[];
    return row?.outcome;
  }
}

/** A sensor stands for itself; an upload that does not say what it describes stands for nothing but its own bytes. */
function defaultSource(order: IngestOrder, draft: Draft, digest: Buffer): string {
  return draft.whole ? `document:${digest.toString('hex').slice(0, 32)}` : `${order.caller.kind}:${order.caller.id}`;
}

const SUPERSEDED: Remark = {
  pointer: '/metadata/timestamp',
  code: 'document.superseded',
  detail: 'a newer document of this source is known; this one is kept on record and changes nothing',
};

async function isSuperseded(tx: EntityManager, { draft, source }: Intake): Promise<boolean> {
  const time = instant(draft.time);
  if (time === null || !draft.whole) return false;
  const rows = (await tx.query('SELECT 1 FROM inventory_source WHERE id = $1 AND document_time > $2', [
    source.id,
    time,
  ])) as unknown[];
  return rows.length > 0;
}

async function recordSource(tx: EntityManager, { source, draft, documentId }: Intake): Promise<void> {
  await tx.query(
    `INSERT INTO inventory_source (id, name, document_id, document_time) VALUES ($1, $2, $3, $4)
     ON CONFLICT (id) DO UPDATE SET last_seen = now(),
       document_id = coalesce(excluded.document_id, inventory_source.document_id),
       document_time = coalesce(excluded.document_time, inventory_source.document_time)`,
    [source.id, source.name, draft.whole ? documentId : null, draft.whole ? instant(draft.time) : null],
  );
}

async function recordDocument(tx: EntityManager, intake: Intake, outcome: IngestOutcome): Promise<void> {
  const { draft, source, digest, documentId, order } = intake;
  await tx.query(
    `INSERT INTO inventory_document (id, source_id, digest, format, serial_number, version, document_time, received_from, outcome)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      documentId,
      source.id,
      digest,
      draft.format,
      draft.serialNumber,
      draft.version,
      instant(draft.time),
      order.caller.id,
      outcome,
    ],
  );
}

function outcomeOf({ draft, source }: Intake, { created, updated }: Merged, documentId: string): IngestOutcome {
  const { received, ignored, rejected, repairs, warnings, format } = draft;
  const unchanged = received - rejected.length - created - updated;
  return {
    documentId,
    source: source.name,
    format,
    received,
    created,
    updated,
    unchanged,
    ignored,
    rejected,
    repairs,
    warnings,
  };
}

function entryOf({ order, documentId }: Intake, outcome: IngestOutcome) {
  const { source, format, received, created, updated, unchanged, ignored, rejected, repairs } = outcome;
  return {
    action: 'inventory.ingested',
    actor: { kind: order.caller.kind, id: order.caller.id, name: order.caller.name },
    target: { kind: 'inventory-document', id: documentId },
    correlation: order.requestId,
    source: order.address,
    detail: {
      source,
      format,
      received,
      created,
      updated,
      unchanged,
      ignored,
      rejected: rejected.length,
      repairs: repairs.length,
    },
  };
}
