import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { RowSealEpoch } from './row-seal-epoch.js';
import { RowSeals } from './row-seals.js';
import type { JsonRow, RowText } from './row-text.js';
import { type SealedClass, sealedClasses, type SealedEntity, sealedOptions } from './sealed-entity.js';

const PAGE_ROWS = 500;
const MAX_NAMED = 20;

/** The rows of a table that grant something and do not match their seal. */
export interface ForgedRows {
  readonly table: string;
  readonly count: number;
  /** Primary keys of the first of them. */
  readonly keys: readonly string[];
}

interface KeptRow {
  readonly row: SealedEntity;
  readonly agrees: boolean;
}

/** RowSealKeeper walks all sealed tables: to adopt the rows of an earlier version, to seal by the present key, and to find rows that do not match. */
@Injectable()
export class RowSealKeeper implements OnApplicationBootstrap {
  private readonly logger = new Logger(RowSealKeeper.name);

  constructor(
    private readonly db: DataSource,
    private readonly seals: RowSeals,
    private readonly epoch: RowSealEpoch,
  ) {}

  /** Seals what the migrations of a new database wrote, before the first call is answered. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      if (await this.epoch.isUnrecorded()) await this.adopt();
    } catch (error) {
      this.logger.warn(`the rows of the new database are not sealed yet: ${String(error)}`);
    }
  }

  /** Adopts rows when that is due, and replaces seals of earlier keys. @returns the number of rows sealed */
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

  /** Seals every row of these tables that does not match its seal. For the adoption, and for an operator who accepts the rows as they are. */
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
    this.logger.log(`rows were sealed as they are: ${JSON.stringify(sealed)}`);
    return sealed;
  }

  /** The rows that are refused because they do not match their seal, by table; empty when all do. */
  async forged(): Promise<ForgedRows[]> {
    const found: ForgedRows[] = [];
    for (const entity of sealedClasses().filter((one) => this.seals.demandsSealOf(one))) {
      const text = this.seals.rowText(entity);
      const keys: string[] = [];
      let count = 0;
      for await (const { row, agrees } of this.rows(entity)) {
        if (agrees && this.seals.matches(entity, row)) continue;
        if (keys.length < MAX_NAMED) keys.push(text.keyOf(row));
        count += 1;
      }
      if (count > 0) found.push({ table: text.table, count, keys });
    }
    return found;
  }

  /** Replaces the seals of one table that an earlier key made. */
  private async reseal(entity: SealedClass): Promise<number> {
    let count = 0;
    const earlier = 'substring(t.seal FROM 1 FOR 8) <> $1';
    for await (const { row } of this.rows(entity, earlier, [this.seals.prefix]))
      if (this.seals.matches(entity, row) && (await this.store(entity, row))) count += 1;
    return count;
  }

  /** Rows that grant something, by primary key, in pages. `agrees`: the list in the row is that of the other table. */
  private async *rows(entity: SealedClass, also = 'true', values: unknown[] = []): AsyncGenerator<KeptRow> {
    const text = this.seals.rowText(entity);
    const { while: grants = 'true', list } = sealedOptions(entity);
    const agrees = list === undefined ? 'true' : `t.${list.column} IS NOT DISTINCT FROM ${list.now}`;
    const key = text.keyColumns.map((column) => `t."${column}"`).join(', ');
    const bounds = text.keyColumns.map((_column, i) => `$${values.length + 1 + i}`).join(', ');
    for (let last: JsonRow | undefined; ;) {
      const after = last === undefined ? 'true' : `(${key}) > (${bounds})`;
      const from = last === undefined ? [] : text.keyColumns.map((column) => last?.[column]);
      const page: { row: JsonRow; agrees: boolean }[] = await this.db.query(
        `SELECT to_jsonb(t) AS row, ${agrees} AS agrees FROM ${text.table} t WHERE (${grants}) AND ${also} AND ${after} ORDER BY ${key} LIMIT ${PAGE_ROWS}`,
        [...values, ...from],
      );
      for (const { row, agrees: same } of page) yield { row: text.decoded(row), agrees: same };
      last = page.at(-1)?.row;
      if (page.length < PAGE_ROWS) return;
      await nextTurn();
    }
  }

  /** Seals a row as it was read, unless another process has sealed it since. */
  private async store(entity: SealedClass, row: SealedEntity): Promise<boolean> {
    const text: RowText<SealedEntity> = this.seals.rowText(entity);
    const where = text.keyColumns.map((column, i) => `"${column}" = $${i + 3}`).join(' AND ');
    const [stored]: [unknown[], number] = await this.db.query(
      `UPDATE ${text.table} SET seal = $1 WHERE seal IS NOT DISTINCT FROM $2 AND ${where} RETURNING 1`,
      [this.seals.sealOf(entity, row), row.seal, ...Object.values(text.whereKey(row))],
    );
    return stored.length === 1;
  }
}
