import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { LastingSeal } from './lasting-seal.js';
import type { Seal } from './seal.js';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { RecentValue } from '../work/recent-value.js';

/** SealedColumn is a column of encrypted bytes in a table with primary key `id`. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Purpose of the encryption. */
  readonly purpose: string;
  /** SQL expression on the row `t` for the associated data of the ciphertext, as text. */
  readonly place: string;
  readonly seal: Pick<LastingSeal, 'close' | 'open' | 'prefix'>;
}

export interface SealedRow {
  readonly id: string;
  readonly place: string;
  readonly sealed: Buffer;
}

/** Result of decrypting rows. `notOpenable` counts failures; `reason` is the reason of the last failure. */
interface Openings {
  readonly looked: number;
  readonly notOpenable: number;
  readonly reason?: string;
}

/** Number of rows per column that the health check decrypts. A missing secret affects all rows. */
const SAMPLE = 20;

/** SealedColumns registers the encrypted columns of all modules that store secrets for longer than minutes. */
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

  /** Returns rows after `after` whose ciphertexts do not begin with `prefix`, ordered by ID. */
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

  /** Replaces the ciphertext of a row, unless it was replaced in the meantime. */
  async replace({ table, column }: SealedColumn, { id, sealed }: SealedRow, next: Buffer): Promise<boolean> {
    const [rows]: [unknown[], number] = await this.db.query(
      `UPDATE ${table} SET ${column} = $3 WHERE id = $1 AND ${column} = $2 RETURNING id`,
      [id, sealed, next],
    );
    return rows.length === 1;
  }

  /** Decrypts the newest rows of each column. Rejects if the HSM does not respond. */
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

/** reasonNotToOpen returns the code of the Problem if a row cannot be decrypted; otherwise undefined. Rejects on temporary faults of the HSM. */
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

/** columnSealOf adapts a Seal to the interface of a SealedColumn. */
export function columnSealOf(seal: Seal): SealedColumn['seal'] {
  return {
    close: (...order) => Promise.resolve(seal.close(...order)),
    open: async (...order) => Promise.resolve(seal.open(...order)),
    prefix: () => Promise.resolve(seal.prefix),
  };
}

/** Time for which the result of the health check is cached, because decrypting a row may require a call to the HSM. */
const CACHE_MS = 30_000;

/**
 * SealedColumnsHealth reports whether stored secrets can be decrypted, which fails if a SVC_JWT_SECRET was lost or the token belongs to another installation.
 */
@Injectable()
export class SealedColumnsHealth {
  constructor(
    private readonly columns: SealedColumns,
    indicators: HealthIndicators,
  ) {
    // A read that fails because of the HSM is not cached and is repeated by the next check. A separate indicator reports HSM faults.
    const recent = new RecentValue(CACHE_MS, () => this.read());
    indicators.add('secrets', () => recent.get());
  }

  private async read(): Promise<Indication> {
    const { looked, notOpenable, reason } = await this.columns.sample();
    if (notOpenable === 0) return { status: 'UP', detail: `the ${looked} newest stored secrets can be decrypted` };
    const what = `${notOpenable} of the ${looked} newest stored secrets cannot be decrypted (${reason})`;
    return {
      status: 'DOWN',
      detail: `${what}: add the earlier secret to SVC_JWT_SECRET_PREVIOUS; see docs/operations.md`,
    };
  }
}
