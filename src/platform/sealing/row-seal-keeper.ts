import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { RowSealEpoch } from './row-seal-epoch.js';
import { RowSeals } from './row-seals.js';
import { shownContent } from './shown-content.js';
import type { JsonRow, RowText } from './row-text.js';
import { notWritten } from './sealed-rows.js';
import {
  editOf,
  type SealedClass,
  sealedClasses,
  type SealedEntity,
  type SealedOptions,
  sealedOptions,
} from './sealed-entity.js';

const PAGE_ROWS = 500;
const MAX_NAMED = 20;
/** Maximum number of rows per table whose keys are listed for review by an operator. */
const MAX_REVIEWED = 1000;

/** ForgedRows lists the rows of a table that grant rights but do not match their seal. */
export interface ForgedRows {
  readonly table: string;
  readonly count: number;
  /** Primary keys of the first rows. */
  readonly keys: readonly string[];
}

/** ReviewedRows lists the rows of a table that an operator is about to accept. */
export interface ReviewedRows extends ForgedRows {
  /** The sealed columns of the rows in `keys`, as JSON. Secrets and long values are replaced with their SHA-256. */
  readonly contents: readonly string[];
  /** ID and edit counter of each row, for the audit log; empty for a table without an edit counter. */
  readonly edits: readonly AcceptedEdit[];
}

/** Primary key and edit counter of an accepted row. */
export type AcceptedEdit = readonly [id: string, edit: number];

/** SealReview contains all rows that do not match their seal. */
export interface SealReview {
  readonly tables: readonly ReviewedRows[];
  /** SHA-256 over the content of these rows, hexadecimal. */
  readonly digest: string;
}

interface KeptRow {
  readonly row: SealedEntity;
  readonly agrees: boolean;
}

type Database = Pick<EntityManager, 'query'>;

interface RowsWanted {
  readonly tx?: Database;
  /** SQL condition on the row `t`, with `values` as its parameters. */
  readonly also?: string;
  readonly values?: readonly unknown[];
  readonly withPresentList?: boolean;
}

/**
 * RowSealKeeper processes all sealed tables: it adopts rows of an earlier version, reseals rows with the current key, and finds rows that do not match their
 * seal.
 */
@Injectable()
export class RowSealKeeper implements OnApplicationBootstrap {
  private readonly logger = new Logger(RowSealKeeper.name);

  constructor(
    private readonly db: DataSource,
    private readonly seals: RowSeals,
    private readonly epoch: RowSealEpoch,
  ) {}

  /** Seals the rows inserted by the migrations of a new database, before the first request is served. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      if (await this.epoch.isUnrecorded()) await this.adopt();
    } catch (error) {
      this.logger.warn(`unable to seal the rows of the new database: ${String(error)}`);
    }
  }

  /**
   * Adopts rows if adoption is due, and replaces seals made with earlier keys.
   * @returns number of rows resealed
   */
  async run(stopping: () => boolean = () => false): Promise<number> {
    await this.adopt();
    let resealed = 0;
    for (const entity of sealedClasses()) {
      if (stopping()) break;
      resealed += await this.reseal(entity);
    }
    return resealed;
  }

  private async adopt(): Promise<void> {
    for (const { generation, how } of await this.epoch.pending())
      await this.epoch.begin(generation, how === 'adopt' ? await this.sealAll(sealedClasses(generation)) : {});
  }

  /** Seals every row of these tables that does not match its seal. Used for adoption. */
  async sealAll(entities: readonly SealedClass[] = sealedClasses()): Promise<Record<string, number>> {
    const sealed: Record<string, number> = {};
    for (const entity of entities) {
      const { list } = sealedOptions(entity);
      const text = this.seals.rowText(entity);
      if (list !== undefined)
        await this.db.query(
          `UPDATE ${text.table} t SET ${list.column} = ${list.now} WHERE t.${list.column} IS DISTINCT FROM ${list.now}`,
        );
      sealed[text.table] = 0;
      for await (const { row } of this.rows(entity))
        if (!this.seals.matches(entity, row) && (await this.store(entity, row)))
          sealed[text.table] = (sealed[text.table] ?? 0) + 1;
    }
    this.logger.log(`sealed existing rows: ${JSON.stringify(sealed)}`);
    return sealed;
  }

  /** Returns the rows that are rejected because they do not match their seal, by table; empty if all rows match. */
  async forged(): Promise<ForgedRows[]> {
    const { tables } = await this.review(this.db, { seal: false });
    return tables.map(({ table, count, keys }) => ({ table, count, keys: keys.slice(0, MAX_NAMED) }));
  }

  /**
   * Returns the rows that do not match their seal, with a digest over their content, and seals them if `seal` is set. The list in each row is replaced with
   * the current rows of the other table.
   *
   * @param tx with `seal`, a REPEATABLE READ transaction, so that exactly the rows covered by the digest are sealed
   */
  async review(tx: Database, { seal }: { readonly seal: boolean }): Promise<SealReview> {
    const tables: ReviewedRows[] = [];
    const digest = createHash('sha256');
    for (const entity of sealedClasses().filter((one) => this.seals.demandsSealOf(one))) {
      const text = this.seals.rowText(entity);
      const [keys, contents, edits]: [string[], string[], AcceptedEdit[]] = [[], [], []];
      let count = 0;
      for await (const { row, agrees } of this.rows(entity, { tx, withPresentList: true })) {
        if (agrees && this.seals.matches(entity, row)) continue;
        digest.update(`${text.textOf(row)}\n`);
        const [key, edit] = [text.keyOf(row), editOf(entity, row)];
        if (edit !== undefined) edits.push([key, edit]);
        if (keys.length < MAX_REVIEWED) {
          keys.push(key);
          contents.push(shownContent(text.textOf(row)));
        }
        count += 1;
        if (seal && !(await this.store(entity, row, tx))) throw notWritten(text.table);
      }
      if (count > 0) tables.push({ table: text.table, count, keys, contents, edits });
    }
    return { tables, digest: digest.digest('hex') };
  }

  /** Replaces the seals of one table that were made with an earlier key. */
  private async reseal(entity: SealedClass): Promise<number> {
    let count = 0;
    const earlier = 'substring(t.seal FROM 1 FOR 8) <> $1';
    for await (const { row } of this.rows(entity, { also: earlier, values: [this.seals.prefix] }))
      if (this.seals.matches(entity, row) && (await this.store(entity, row))) count += 1;
    return count;
  }

  /**
   * Yields rows that grant rights, in pages by primary key. `agrees` reports whether the list in the row matches the other table.
   *
   * @param withPresentList replaces the list in the row with the current rows of the other table
   */
  private async *rows(
    entity: SealedClass,
    { tx = this.db, also = 'true', values = [], withPresentList = false }: RowsWanted = {},
  ): AsyncGenerator<KeptRow> {
    const text = this.seals.rowText(entity);
    const { while: grants = 'true', list } = sealedOptions(entity);
    const agrees = list === undefined ? 'true' : `t.${list.column} IS NOT DISTINCT FROM ${list.now}`;
    const json = withPresentList ? jsonWithList(list) : 'to_jsonb(t)';
    const key = text.keyColumns.map((column) => `t."${column}"`).join(', ');
    const bounds = text.keyColumns.map((_column, i) => `$${values.length + 1 + i}`).join(', ');
    for (let last: JsonRow | undefined; ;) {
      const after = last === undefined ? 'true' : `(${key}) > (${bounds})`;
      const from = last === undefined ? [] : text.keyColumns.map((column) => last?.[column]);
      const page: { row: JsonRow; agrees: boolean }[] = await tx.query(
        `SELECT ${json} AS row, ${agrees} AS agrees FROM ${text.table} t WHERE (${grants}) AND ${also} AND ${after} ORDER BY ${key} LIMIT ${PAGE_ROWS}`,
        [...values, ...from],
      );
      for (const { row, agrees: same } of page) yield { row: text.decoded(row), agrees: same };
      last = page.at(-1)?.row;
      if (page.length < PAGE_ROWS) return;
      await nextTurn();
    }
  }

  /** Stores the seal of a row as read, including its list, unless another process has sealed the row in the meantime. */
  private async store(entity: SealedClass, row: SealedEntity, tx: Database = this.db): Promise<boolean> {
    const text: RowText<SealedEntity> = this.seals.rowText(entity);
    const key = Object.values(text.whereKey(row));
    const where = text.keyColumns.map((column, i) => `"${column}" = $${i + 3}`).join(' AND ');
    const { list } = sealedOptions(entity);
    const set = list === undefined ? '' : `, "${list.column}" = $${key.length + 3}`;
    const listed: unknown[] = list === undefined ? [] : [row[list.column as keyof SealedEntity]];
    const [stored]: [unknown[], number] = await tx.query(
      `UPDATE ${text.table} SET seal = $1${set} WHERE seal IS NOT DISTINCT FROM $2 AND ${where} RETURNING 1`,
      [this.seals.sealOf(entity, row), row.seal, ...key, ...listed],
    );
    return stored.length === 1;
  }
}

/** Returns SQL for the row `t` as JSON, with the current list of the other table. */
function jsonWithList(list: SealedOptions['list']): string {
  return list === undefined ? 'to_jsonb(t)' : `to_jsonb(t) || jsonb_build_object('${list.column}', ${list.now})`;
}
