import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../../access/caller.js';
import { mayDo } from '../../../access/scopes.js';
import { newId, uuidOf } from '../../../platform/database/new-id.js';
import { RowWatch } from '../../../platform/database/row-watch.js';
import type { Followed } from '../../../platform/http/event-stream.js';
import { Cursors, type Page } from '../../../platform/http/cursors.js';
import { filteredList } from '../../../platform/http/list-filter.js';
import type { PageQuery } from '../../../platform/http/page.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import type { RawBody } from '../../../platform/http/bodies/raw-body.js';
import { IdempotencyKeys, idempotentUse } from '../../../platform/http/idempotency-keys.js';
import { withoutSecrets } from '../staging/arrivals.js';
import { bodyKindOf, type IngestOptions, reporterOf } from './ingest.service.js';
import { ImportBodies } from './import-bodies.js';
import { ImportRunner } from './import-runner.js';
import { type ImportStatus, InventoryImport } from './inventory-import.entity.js';

/** MAX_OPEN is the maximum number of waiting or running documents of all callers. The bodies of the documents are stored in the database. */
const MAX_OPEN = 200;
/** MAX_OPEN_PER_OWNER is the maximum number of waiting or running documents per owner, across all of the owner's credentials, and per sensor. */
const MAX_OPEN_PER_OWNER = 50;
const OPERATION = 'inventory.import';
export interface ImportFilter extends PageQuery {
  readonly status?: ImportStatus;
  readonly source?: string;
}

/** MAX_LISTED_BYTES is the maximum compressed size of an outcome or problem in a list. */
const MAX_LISTED_BYTES = 2000;
const ENDS: readonly string[] = ['outcome', 'problem'] satisfies (keyof InventoryImport)[];
const NO_END = { outcome: null, problem: null };
const SLICE = 4 * 1024 * 1024;

type ImportEnd = Pick<InventoryImport, 'id' | 'outcome' | 'problem'>;

/** ImportsService accepts documents to be ingested later and reports the progress of each document. */
@Injectable()
export class ImportsService implements BeforeApplicationShutdown {
  readonly rows = new RowWatch((ids) =>
    this.db.query(`SELECT id, concat_ws(' ', status, phase, done) AS mark FROM inventory_import WHERE id = ANY($1)`, [
      ids,
    ]),
  );

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly keys: IdempotencyKeys,
    private readonly bodies: ImportBodies,
    private readonly runner: ImportRunner,
  ) {}

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }

  /** @throws Problem 422 `import.password`, 429 `ingest.busy`. */
  async accept(caller: Caller, body: RawBody, options: IngestOptions): Promise<InventoryImport> {
    if (options.password !== undefined)
      throw new Problem(
        'refused',
        'import.password',
        'A key store with a password cannot be imported asynchronously, because passwords are not stored. Send the key store without async.',
      );
    const { id: callerId, ownerId, origin } = caller;
    const { mode = 'repair', source, idempotencyKey } = options;
    const id = newId();
    const digest = idempotencyKey === undefined ? '' : await digestOf(body.bytes);
    const use = idempotentUse(idempotencyKey, {
      principal: callerId,
      operation: OPERATION,
      body: digest,
      resource: id,
    });
    const made = await this.db.transaction(async (tx) => {
      const earlier = await this.keys.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const place = await this.nextTurn(tx, caller);
      const order = {
        kind: bodyKindOf(body),
        mode,
        source: source === undefined ? undefined : withoutSecrets(source),
        caller: reporterOf(caller),
        requestId: origin.requestId,
        address: origin.address,
        // Detects a document that was committed by an earlier run that stopped without recording the outcome.
        idempotencyKey: id,
      };
      await tx.query('INSERT INTO inventory_import (id, bytes, "order", owner_id, turn) VALUES ($1, $2, $3, $4, $5)', [
        id,
        body.bytes.length,
        JSON.stringify(order),
        ownerId,
        place,
      ]);
      await this.bodies.keep(tx, id, body.bytes);
      return id;
    });
    this.runner.wake();
    return this.find(caller, made);
  }

  /** Returns an import. Waits up to `seconds` for the import to finish. @throws Problem 404 `import.missing`. */
  async find(caller: Caller, id: string, seconds = 0): Promise<InventoryImport> {
    return this.rows.until(id, seconds, async () => {
      const row = await this.get(caller, id);
      return { row, mark: markOf(row), final: row.endedAt !== null };
    });
  }

  /** Returns the import in the format that `answerEvents` expects. */
  async follow<View>(caller: Caller, id: string, viewOf: (row: InventoryImport) => View): Promise<Followed<View>> {
    const row = await this.get(caller, id);
    return { id, view: viewOf(row), mark: markOf(row), final: row.endedAt !== null };
  }

  /**
   * Returns the caller's imports, newest first. Callers who can read the audit log see all imports. Large outcomes and problems are omitted, because
   * an outcome can list thousands of rejected items.
   */
  async list(caller: Caller, { limit, cursor, ...filter }: ImportFilter): Promise<Page<InventoryImport>> {
    const list = filteredList('inventory imports', filter);
    const { status, source } = filter;
    const query = this.db.createQueryBuilder(InventoryImport, 'import');
    if (!seesAll(caller)) query.andWhere('import.ownerId = :owner', { owner: caller.ownerId });
    if (!seesOthersOfOwner(caller))
      query.andWhere(`import.order -> 'caller' ->> 'id' = :caller`, { caller: caller.id });
    if (status !== undefined) query.andWhere('import.status = :status', { status });
    if (source !== undefined) query.andWhere(`import.order ->> 'source' = :source`, { source: withoutSecrets(source) });
    const { columns } = this.db.getMetadata(InventoryImport);
    const plain = columns.filter(({ propertyName }) => !ENDS.includes(propertyName));
    query.select(plain.map(({ propertyName }) => `import.${propertyName}`));
    const { items, nextCursor } = await this.cursors.newest(list, query, { limit, cursor });
    const small: ImportEnd[] = await this.db.query(
      `SELECT id, outcome, problem FROM inventory_import
       WHERE id = ANY($1) AND coalesce(pg_column_size(outcome), 0) + coalesce(pg_column_size(problem), 0) <= ${MAX_LISTED_BYTES}`,
      [items.map(({ id }) => id)],
    );
    const endOf = new Map(small.map((end) => [end.id, end]));
    return { items: items.map((row) => Object.assign(row, endOf.get(row.id) ?? NO_END)), nextCursor };
  }

  private async get(caller: Caller, id: string): Promise<InventoryImport> {
    const row = await this.db.manager.findOneBy(InventoryImport, { id });
    if (row === null || !isSeenBy(row, caller)) throw missing('import');
    return row;
  }

  /**
   * Returns the turn of the caller's next import: after the caller's last import, and not before the current turn, so that callers are served in turn
   * (start-time fair queueing).
   *
   * @throws Problem 429 `ingest.busy` if the queue, or the caller's share of the queue, is full
   */
  private async nextTurn(tx: EntityManager, { id, ownerId }: Caller): Promise<number> {
    const [{ count, own, present, last } = NO_QUEUE]: Queue[] = await tx.query(
      `WITH open AS (
         SELECT turn, CASE WHEN EXISTS (SELECT FROM sensor_api_key s WHERE s.api_key_id = ${uuidOf(`(i."order" -> 'caller' ->> 'id')`)})
           THEN i."order" -> 'caller' ->> 'id' ELSE owner_id END AS share
         FROM inventory_import i WHERE ended_at IS NULL),
       own AS (SELECT CASE WHEN EXISTS (SELECT FROM sensor_api_key WHERE api_key_id = ${uuidOf('$1')}) THEN $1 ELSE $2 END AS share)
       SELECT count(open.turn)::int AS count, count(*) FILTER (WHERE open.share = own.share)::int AS own,
         min(turn) AS present, max(turn) FILTER (WHERE open.share = own.share) AS last
       FROM own LEFT JOIN open ON true`,
      [id, ownerId],
    );
    if (own >= MAX_OPEN_PER_OWNER) throw busy(`You have reached the limit of ${own} queued imports.`);
    // A full queue still accepts one import from an owner or sensor without a queued import.
    if (count >= MAX_OPEN && own > 0) throw busy('The import queue is full.');
    return Math.max(present ?? 0, (last ?? -1) + 1);
  }
}

/**
 * Queue describes the open imports: the total number (`count`), the number of one owner or sensor (`own`), the lowest turn (`present`), and the highest turn
 * of that owner or sensor (`last`).
 */
interface Queue {
  readonly count: number;
  readonly own: number;
  readonly present: number | null;
  readonly last: number | null;
}

const NO_QUEUE: Queue = { count: 0, own: 0, present: null, last: null };

function busy(why: string): Problem {
  return new Problem('overloaded', 'ingest.busy', `${why} Retry after 30 seconds.`, { retryAfter: 30 });
}

/** Returns the mark of a row, which must equal the mark in the query of `rows`. */
const markOf = ({ status, phase, done }: InventoryImport): string =>
  phase === null ? `${status} ${done}` : `${status} ${phase} ${done}`;

/** Hashes a body in slices, so that a large body does not block the event loop. */
async function digestOf(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += SLICE) {
    hash.update(bytes.subarray(at, at + SLICE));
    await turn();
  }
  return hash.digest('hex');
}

/**
 * Reports whether the caller may see an import. A caller that may only report, such as a sensor, can see its own imports, but not other imports of its API
 * key's owner.
 */
function isSeenBy({ ownerId, order }: InventoryImport, caller: Caller): boolean {
  if (seesAll(caller)) return true;
  return ownerId === caller.ownerId && (seesOthersOfOwner(caller) || order.caller.id === caller.id);
}

function seesOthersOfOwner(caller: Caller): boolean {
  return seesAll(caller) || mayDo(caller.scopes, 'inventory:write');
}

function seesAll(caller: Caller): boolean {
  return mayDo(caller.scopes, 'audit:read');
}
