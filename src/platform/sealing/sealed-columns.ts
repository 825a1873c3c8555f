import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { LastingSeal } from './lasting-seal.js';
import type { Seal } from './seal.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { RecentValue } from '../time/recent-value.js';

/** A column of sealed bytes in a table whose key is `id`. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** What the bytes are sealed for. */
  readonly purpose: string;
  /** SQL about the row `t`: the place that its bytes are bound to, as text. */
  readonly place: string;
  readonly seal: Pick<LastingSeal, 'close' | 'open' | 'prefix'>;
}

export interface SealedRow {
  readonly id: string;
  readonly place: string;
  readonly sealed: Buffer;
}

/** Result of opening rows; `notOpenable` counts those that do not open, `reason` is why the last of them did not. */
interface Openings {
  readonly looked: number;
  readonly notOpenable: number;
  readonly reason?: string;
}

/** Rows that health opens of each column: a secret that is missing shows in every one of them. */
const SAMPLE = 20;

/** The sealed columns of all modules that keep secrets for longer than minutes. */
@Injectable()
export class SealedColumns {
  private readonly columns: SealedColumn[] = [];

  constructor(private readonly db: DataSource) {}

  get all(): readonly SealedColumn[] {
    return this.columns;
  }

  add(...columns: readonly SealedColumn[]): void {
    this.columns.push(...columns);
  }

  /** Rows after `after` whose bytes do not begin with `prefix`, in the order of their ids. */
  async rows(
    { table, column, place }: SealedColumn,
    prefix: Buffer,
    after: string,
    limit: number,
  ): Promise<SealedRow[]> {
    return this.db.query(
      `SELECT t.id, ${place} AS place, t.${column} AS sealed FROM ${table} t
       WHERE t.${column} IS NOT NULL AND t.id > $1 AND substring(t.${column} FROM 1 FOR $2) <> $3 ORDER BY t.id LIMIT $4`,
      [after, Math.max(prefix.length, 1), prefix, limit],
    );
  }

  /** Replaces the bytes of a row unless somebody else did. */
  async replace({ table, column }: SealedColumn, { id, sealed }: SealedRow, next: Buffer): Promise<boolean> {
    const [rows]: [unknown[], number] = await this.db.query(
      `UPDATE ${table} SET ${column} = $3 WHERE id = $1 AND ${column} = $2 RETURNING id`,
      [id, sealed, next],
    );
    return rows.length === 1;
  }

  /** Opens a few rows of each column, the newest of them. Rejects when the HSM does not answer. */
  async sample(): Promise<Openings> {
    let looked = 0;
    const failures: string[] = [];
    for (const column of this.columns) {
      const rows: SealedRow[] = await this.db.query(
        `SELECT t.id, ${column.place} AS place, t.${column.column} AS sealed FROM ${column.table} t
         WHERE t.${column.column} IS NOT NULL ORDER BY t.id DESC LIMIT ${SAMPLE}`,
      );
      looked += rows.length;
      for (const row of rows) {
        const reason = await reasonNotToOpen(column, row);
        if (reason !== undefined) failures.push(`${column.table}.${column.column}: ${reason}`);
      }
    }
    const reason = failures.at(-1);
    return { looked, notOpenable: failures.length, ...(reason === undefined ? {} : { reason }) };
  }
}

/** The code of the Problem of a row that does not open; undefined when it opens. Rejects for passing trouble of the HSM. */
export async function reasonNotToOpen({ seal, purpose }: SealedColumn, row: SealedRow): Promise<string | undefined> {
  try {
    (await seal.open(purpose, row.place, row.sealed)).fill(0);
    return undefined;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === 'secret.not-openable' || code === 'hsm.not-authentic' || code === 'hsm.key-missing') return code;
    throw error;
  }
}

/** A Seal as the registry takes it. */
export function columnSealOf(seal: Seal): SealedColumn['seal'] {
  return {
    close: (...order) => Promise.resolve(seal.close(...order)),
    open: async (...order) => Promise.resolve(seal.open(...order)),
    prefix: () => Promise.resolve(seal.prefix),
  };
}

/** Opening costs a call to the HSM for each row. */
const CACHE_MS = 30_000;

/** Whether stored secrets open: after a SVC_JWT_SECRET was lost, or with the token of another installation, they do not. */
@Injectable()
export class SealedColumnsHealth {
  constructor(
    private readonly columns: SealedColumns,
    indicators: HealthIndicators,
  ) {
    // What the HSM did not answer is asked again at the next look: its trouble has an indicator of its own.
    const recent = new RecentValue(CACHE_MS, () => this.read());
    indicators.add('secrets', () => recent.get());
  }

  private async read(): Promise<Indication> {
    const { looked, notOpenable, reason } = await this.columns.sample();
    if (notOpenable === 0)
      return { status: 'UP', detail: `the newest stored secrets can be decrypted (${looked} were tried)` };
    const what = `${notOpenable} of the ${looked} newest stored secrets cannot be decrypted (${reason})`;
    return {
      status: 'DOWN',
      detail: `${what}: add the earlier secret to SVC_JWT_SECRET_PREVIOUS; see docs/operations.md`,
    };
  }
}
