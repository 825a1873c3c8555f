import { Injectable, Logger } from '@nestjs/common';
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { EventBus } from '../events/events.js';
import { type DerivedKeys, derivedKeys } from './derived-keys.js';
import { type JsonRow, RowText } from './row-text.js';
import {
  generationOf,
  SEAL_GENERATIONS,
  type SealedClass,
  type SealedEntity,
  sealedOptions,
  type SealGeneration,
} from './sealed-entity.js';

const KEY_ID_BYTES = 8;
const SEAL_BYTES = KEY_ID_BYTES + 32;
/** A row that does not match its seal is reported once in this time by each process. */
const REPORT_EVERY_MS = 10 * 60_000;
const MAX_REPORTED = 1000;
const MAX_REVISIONS = 100_000;

const BY_SOURCE = new WeakMap<DataSource, RowSeals>();

/**
 * RowSeals authenticates rows that are credentials or rights: 8 bytes that identify the key, then HMAC-SHA-256 over RowText. The keys come from
 * SVC_JWT_SECRET and SVC_JWT_SECRET_PREVIOUS, which the database does not have, so SQL alone cannot create or change such a row. A row without a
 * matching seal counts as missing.
 *
 * A seal does not date a row: an earlier version of the same row, with its seal, is accepted again. A change that takes something away
 * therefore sets `seal` to null and is recorded in the audit log, see docs/security.md.
 */
@Injectable()
export class RowSeals {
  private readonly logger = new Logger(RowSeals.name);
  private readonly keys: DerivedKeys;
  private readonly ids: readonly Buffer[];
  private readonly texts = new Map<SealedClass, RowText<SealedEntity>>();
  private readonly reported = new Map<string, number>();
  private readonly demanded = new Set<SealGeneration>(SEAL_GENERATIONS);
  /** The latest revisions that were read, by table and key. */
  private readonly revisions = new Map<string, number>();

  constructor(
    config: Config,
    private readonly db: DataSource,
    private readonly events: EventBus,
  ) {
    this.keys = derivedKeys(config, 'sealwright row');
    this.ids = derivedKeys(config, 'sealwright row key id').map((key) => key.export().subarray(0, KEY_ID_BYTES));
    BY_SOURCE.set(db, this);
  }

  /** Whether rows without a seal are refused in every table. False only during an upgrade from a version that seals none, or fewer. */
  get isStrict(): boolean {
    return this.demanded.size === SEAL_GENERATIONS.length;
  }

  /** Whether rows of this table without a seal are refused. */
  demandsSealOf(entity: SealedClass): boolean {
    return this.demanded.has(generationOf(entity));
  }

  /** Called by RowSealEpoch alone. */
  demand(generation: SealGeneration, strict: boolean): void {
    if (strict) this.demanded.add(generation);
    else this.demanded.delete(generation);
  }

  /** The first bytes of seals made by the present key. */
  get prefix(): Buffer {
    return this.ids[0] ?? Buffer.alloc(0);
  }

  sealOf<Row extends SealedEntity>(entity: SealedClass<Row>, row: Partial<Row>): Buffer {
    return this.macOf(this.keys[0], this.prefix, this.rowText(entity).textOf(row));
  }

  /** Whether the seal of a row matches. The row must have all sealed columns. */
  matches<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row): boolean {
    try {
      return this.isSeal(row.seal, this.rowText(entity).textOf(row));
    } catch (error) {
      // PostgreSQL stores times that the service does not support, such as infinity or a year before 1.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /** A seal over a statement of the service that is not a row. */
  sealOfText(text: string): Buffer {
    return this.macOf(this.keys[0], this.prefix, text);
  }

  isSeal(seal: Buffer | null | undefined, text: string): boolean {
    if (seal?.length !== SEAL_BYTES) return false;
    const at = this.ids.findIndex((id) => id.equals(seal.subarray(0, KEY_ID_BYTES)));
    const [key, id] = [this.keys[at], this.ids[at]];
    return key !== undefined && id !== undefined && timingSafeEqual(this.macOf(key, id, text), seal);
  }

  /** The row if its seal matches; otherwise null, and the mismatch is reported. */
  trusted<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row | null): Row | null {
    if (row === null || !this.demandsSealOf(entity) || this.matches(entity, row)) return row;
    this.report(entity, row);
    return null;
  }

  /** Like `trusted`, for a row that SQL returned by `to_jsonb`. */
  opened<Row extends SealedEntity>(entity: SealedClass<Row>, json: JsonRow | null): Row | null {
    return json === null ? null : this.trusted(entity, this.rowText(entity).decoded(json));
  }

  /**
   * The row unless this process remembers a later state of it: then an earlier row was put back together with its seal.
   *
   * @param remember whether to remember this state. Not within a transaction, which may be undone.
   */
  newest<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row | null, remember = false): Row | null {
    if (row === null || !this.demandsSealOf(entity)) return row;
    const { revision: name = '' } = sealedOptions(entity);
    const revision = Number(row[name as keyof Row] ?? 0);
    const key = `${this.rowText(entity).table} ${this.rowText(entity).keyOf(row)}`;
    const known = this.revisions.get(key) ?? 0;
    if (revision < known) {
      this.report(entity, row);
      return null;
    }
    if (!remember || revision === known) return row;
    if (this.revisions.size >= MAX_REVISIONS) this.revisions.clear();
    this.revisions.set(key, revision);
    return row;
  }

  rowText<Row extends SealedEntity>(entity: SealedClass<Row>): RowText<Row> {
    const known = this.texts.get(entity) ?? new RowText(this.db, entity);
    this.texts.set(entity, known);
    return known as unknown as RowText<Row>;
  }

  report<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row): void {
    const { table } = this.rowText(entity);
    const key = this.rowText(entity).keyOf(row);
    const [name, now] = [`${table} ${key}`, Date.now()];
    if (now - (this.reported.get(name) ?? 0) < REPORT_EVERY_MS) return;
    if (this.reported.size >= MAX_REPORTED) this.reported.clear();
    this.reported.set(name, now);
    this.logger.error(`row ${key} of ${table} was not written by the service, or was changed in the database: refused`);
    this.events.emit('row.not-sealed', { table, key });
  }

  /** Rows that this process refused lately, as `table key`. */
  refused(): string[] {
    const since = Date.now() - REPORT_EVERY_MS;
    return [...this.reported].filter(([, at]) => at > since).map(([name]) => name);
  }

  private macOf(key: KeyObject, id: Buffer, text: string): Buffer {
    return Buffer.concat([id, createHmac('sha256', key).update(text).digest()]);
  }
}

/** The seals of the database that a transaction or manager writes to. */
export function sealsOf(tx: Pick<EntityManager, 'dataSource'>): RowSeals {
  const seals = BY_SOURCE.get(tx.dataSource);
  if (seals === undefined) throw new Error('RowSeals was not created for this data source');
  return seals;
}
