import { Injectable, Logger } from '@nestjs/common';
import { createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { Problem } from '../errors/problem.js';
import { EventBus } from '../events/events.js';
import { type DerivedKeys, derivedKeys } from './derived-keys.js';
import { type JsonRow, RowText } from './row-text.js';
import {
  editOf,
  generationOf,
  SEAL_GENERATIONS,
  type SealedClass,
  type SealedEntity,
  sealedOptions,
  type SealGeneration,
} from './sealed-entity.js';

const KEY_ID_BYTES = 8;
const SEAL_BYTES = KEY_ID_BYTES + 32;
/** Minimum time between two reports of the same row by one process. */
const REPORT_EVERY_MS = 10 * 60_000;
const MAX_REPORTED = 1000;
const MAX_READ = 100_000;

/** LoggedRows contains the facts about rows in the audit log. */
export interface LoggedRows {
  /** Edit counter of each row in the audit log, by ID. */
  readonly edits: ReadonlyMap<string, number>;
  /** Time at which API keys and clients were revoked, or second factors removed, by ID. */
  readonly revoked: ReadonlyMap<string, number>;
  /** Time at which providers, issuers, trusts and rules were removed or disabled, by ID. */
  readonly withdrawn: ReadonlyMap<string, number>;
  /** Issuers and identity providers that are enabled: maps each ID to `workload-issuer` or `identity-provider`. */
  readonly origins: ReadonlyMap<string, string>;
  /** IDs of accounts by the names under which the accounts were created: `addressName`, `subjectName`. */
  readonly accounts: ReadonlyMap<string, string>;
}

/** LogOfRows reads the facts about rows from the audit log. */
export interface LogOfRows {
  /** Reads the log unless it was read within the last few seconds. Does not throw. */
  recent(): Promise<unknown>;
  /** Reads the log to its end, including entries that have not been signed yet. Throws if the log has a fault. */
  latest(): Promise<LoggedRows>;
  /** Like `latest`. Also throws if new entries are not being signed. */
  current(): Promise<LoggedRows>;
}

/** addressName returns the lookup key of an account: a hash of the canonical email address, because the audit log is exported to third parties. */
export function addressName(email: string): string {
  return createHash('sha256').update(email).digest('base64');
}

/** subjectName returns the lookup key of an account: provider ID and subject. */
export function subjectName(providerId: string, subject: string): string {
  return `${providerId} ${subject}`;
}

const BY_SOURCE = new WeakMap<DataSource, RowSeals>();

/**
 * RowSeals authenticates rows that are credentials or rights. A seal consists of an 8-byte key ID and the HMAC-SHA-256 of RowText. The keys are derived
 * from SVC_JWT_SECRET and SVC_JWT_SECRET_PREVIOUS, which are not in the database, so SQL alone cannot create or change these rows. A row without a matching
 * seal is treated as missing.
 *
 * A seal does not prevent replay: an earlier version of a row with its seal is accepted again. A revocation therefore sets `seal` to null and is recorded
 * in the audit log (docs/security.md).
 */
@Injectable()
export class RowSeals {
  private readonly logger = new Logger(RowSeals.name);
  private readonly keys: DerivedKeys;
  private readonly ids: readonly Buffer[];
  private readonly texts = new Map<SealedClass, RowText<SealedEntity>>();
  private readonly reported = new Map<string, number>();
  private readonly demanded = new Set<SealGeneration>(SEAL_GENERATIONS);
  private logged: LoggedRows = {
    edits: new Map(),
    revoked: new Map(),
    withdrawn: new Map(),
    origins: new Map(),
    accounts: new Map(),
  };
  private logFault: Problem | undefined;
  private log: LogOfRows | undefined;
  /** Edit counters of rows that were changed in open transactions, by ID of the row. */
  private readonly edited = new WeakMap<object, Map<string, number>>();
  /** Edit counters of rows that this process has read, by ID of the row. */
  private readonly read = new Map<string, number>();

  constructor(
    config: Config,
    private readonly db: DataSource,
    private readonly events: EventBus,
  ) {
    this.keys = derivedKeys(config, 'sealwright row');
    this.ids = derivedKeys(config, 'sealwright row key id').map((key) => key.export().subarray(0, KEY_ID_BYTES));
    BY_SOURCE.set(db, this);
  }

  /** Whether rows without a seal are rejected in every table. False only during an upgrade from a version that seals fewer tables or no tables. */
  get isStrict(): boolean {
    return this.demanded.size === SEAL_GENERATIONS.length;
  }

  /** Reports whether rows of this table without a seal are rejected. */
  demandsSealOf(entity: SealedClass): boolean {
    return this.demanded.has(generationOf(entity));
  }

  /** Sets whether unsealed rows of a generation are rejected. Called only by RowSealEpoch. */
  demand(generation: SealGeneration, strict: boolean): void {
    if (strict) this.demanded.add(generation);
    else this.demanded.delete(generation);
  }

  /** Key ID of the current key, which is the prefix of new seals. */
  get prefix(): Buffer {
    return this.ids[0] ?? Buffer.alloc(0);
  }

  sealOf<Row extends SealedEntity>(entity: SealedClass<Row>, row: Partial<Row>): Buffer {
    return this.macOf(this.keys[0], this.prefix, this.rowText(entity).textOf(row));
  }

  /** Reports whether the seal of a row matches. The row must have all sealed columns. */
  matches<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row): boolean {
    try {
      return this.isSeal(row.seal, this.rowText(entity).textOf(row));
    } catch (error) {
      // PostgreSQL can store times that the service does not support, such as infinity or years BC.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /** Returns the seal for text that is not a row. */
  sealOfText(text: string): Buffer {
    return this.macOf(this.keys[0], this.prefix, text);
  }

  isSeal(seal: Buffer | null | undefined, text: string): boolean {
    if (seal?.length !== SEAL_BYTES) return false;
    const at = this.ids.findIndex((id) => id.equals(seal.subarray(0, KEY_ID_BYTES)));
    const [key, id] = [this.keys[at], this.ids[at]];
    return key !== undefined && id !== undefined && timingSafeEqual(this.macOf(key, id, text), seal);
  }

  /** Returns the row if its seal matches; otherwise reports the mismatch and returns null. */
  trusted<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row | null): Row | null {
    if (row === null || !this.demandsSealOf(entity)) return row;
    this.assertLogIntact(entity);
    if (this.matches(entity, row) && !this.isOlder(entity, row)) return row;
    if (!this.hasEnded(entity, row)) this.report(entity, row);
    return null;
  }

  /** Reports whether the service revoked, ended or consumed a row, which removes the seal of the row. */
  hasEnded<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row): boolean {
    if (row.seal !== null) return false;
    const ends = new Set(
      [...(sealedOptions(entity).while ?? '').matchAll(/t\.(\w+) IS NULL/g)].map(([, name]) => name),
    );
    const { columns } = this.db.getMetadata(entity);
    return columns.some(
      ({ databaseName, propertyName }) => ends.has(databaseName) && row[propertyName as keyof Row] !== null,
    );
  }

  /**
   * Sets the facts about rows from the audit log. A row with a smaller edit counter was restored together with its seal, and is rejected.
   *
   * @param fault set if log entries were changed or removed; rows with an edit counter cannot be verified until the fault is resolved
   */
  learn(logged: LoggedRows, fault?: Problem): void {
    this.logged = logged;
    this.logFault = fault;
  }

  /** Sets the reader of the audit log. The reader passes the facts that it reads to `learn`. */
  learnBy(log: LogOfRows): void {
    this.log = log;
  }

  /**
   * Reads the audit log, unless it was read within the last few seconds, so that restored earlier rows are detected. Does not throw if the log cannot
   * be read.
   */
  async catchUp(): Promise<void> {
    await this.log?.recent();
  }

  /**
   * Reads the audit log to its end, so that restored earlier versions of rules and trusts are detected even if the database owner delays the log.
   *
   * @throws Problems of the log if it cannot be read or is behind
   */
  async assertUpToDate(): Promise<void> {
    if (this.log !== undefined) this.logged = await this.log.current();
  }

  /**
   * Reports whether several issuers or identity providers are enabled, in the database or in the audit log, because a row may have been hidden temporarily.
   *
   * @param ids IDs of the enabled rows, whose seals are not verified
   */
  async areSeveral(kind: 'workload-issuer' | 'identity-provider', ids: readonly string[]): Promise<boolean> {
    await this.catchUp();
    const logged = [...this.logged.origins].filter(([, one]) => one === kind);
    return new Set([...ids, ...logged.map(([id]) => id)]).size > 1;
  }

  /** Rejects rows with an edit counter while the log has a fault, and triggers a read of the log unless the log was read within the last few seconds. */
  private assertLogIntact(entity: SealedClass): void {
    if (sealedOptions(entity).edits === undefined) return;
    void this.log?.recent();
    if (this.logFault !== undefined) throw this.logFault;
  }

  /**
   * Asserts that the audit log contains no account under any of these names: an account that exists only in the log was deleted directly in the database,
   * and would exist twice once its row is restored.
   *
   * @throws Problem `row.not-sealed`, and the Problems of the log if it cannot be read
   */
  async assertNoAccount(...names: readonly string[]): Promise<void> {
    const { accounts } = (await this.log?.latest()) ?? this.logged;
    const known = names.map((name) => accounts.get(name)).find((id) => id !== undefined);
    if (known === undefined) return;
    const detail = `The audit log contains the account ${known} for this person, but the database does not, so the row was deleted outside the service. An operator must restore the row.`;
    throw new Problem('conflict', 'row.not-sealed', detail);
  }

  /** Records the edit counter of a changed row, for the audit entry in the same transaction. */
  noteEdit<Row extends SealedEntity>(tx: EntityManager, entity: SealedClass<Row>, row: Partial<Row>): void {
    const edit = editOf(entity, row);
    if (edit === undefined || tx.queryRunner === undefined) return;
    const known = this.edited.get(tx.queryRunner) ?? new Map<string, number>();
    this.edited.set(tx.queryRunner, known.set(this.rowText(entity).keyOf(row), edit));
  }

  /** Returns the last edit counter of a row that `noteEdit` recorded in the transaction; undefined if there is none. */
  notedEdit({ queryRunner }: Pick<EntityManager, 'queryRunner'>, id: string): number | undefined {
    return queryRunner === undefined ? undefined : this.edited.get(queryRunner)?.get(id);
  }

  private isOlder<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row): boolean {
    const key = this.rowText(entity).keyOf(row);
    if (this.logged.revoked.has(key)) return true;
    const edit = editOf(entity, row);
    if (edit === undefined) return false;
    const logged = this.logged.edits.get(key);
    if (edit < Math.max(logged ?? 0, this.read.get(key) ?? 0)) return true;
    // The edit counter of a row that was enabled again is ahead of the log until its audit entry has been read.
    const isEnabled = 'enabled' in row && row.enabled === true;
    return isEnabled && this.logged.withdrawn.has(key) && (logged === undefined || edit <= logged);
  }

  /** Like `trusted`, for a row returned by `to_jsonb`. */
  opened<Row extends SealedEntity>(entity: SealedClass<Row>, json: JsonRow | null): Row | null {
    return json === null ? null : this.trusted(entity, this.rowText(entity).decoded(json));
  }

  /**
   * Returns a trusted row and stores its edit counter, so that this process rejects earlier versions of the row. Do not call within a transaction, which
   * may roll back.
   */
  remember<Row extends SealedEntity>(entity: SealedClass<Row>, row: Row | null): Row | null {
    const edit = row === null ? undefined : editOf(entity, row);
    if (row === null || edit === undefined) return row;
    const key = this.rowText(entity).keyOf(row);
    if (this.read.size >= MAX_READ && !this.read.has(key)) this.read.clear();
    this.read.set(key, edit);
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
    this.logger.error(
      `rejected row ${key} of ${table}, which was not written by the service or was modified directly in the database`,
    );
    this.events.emit('row.not-sealed', { table, key });
  }

  /** Returns rows that this process recently rejected, as `table key`. */
  refused(): string[] {
    const since = Date.now() - REPORT_EVERY_MS;
    return [...this.reported].filter(([, at]) => at > since).map(([name]) => name);
  }

  private macOf(key: KeyObject, id: Buffer, text: string): Buffer {
    return Buffer.concat([id, createHmac('sha256', key).update(text).digest()]);
  }
}

/** sealsOf returns the RowSeals for the database of a transaction or entity manager. */
export function sealsOf(tx: Pick<EntityManager, 'dataSource'>): RowSeals {
  const seals = BY_SOURCE.get(tx.dataSource);
  if (seals === undefined) throw new Error('RowSeals was not created for this data source');
  return seals;
}
