import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, Column, Entity, PrimaryColumn } from 'typeorm';
import type { BackgroundState } from '../work/background-job.js';
import { type Epoch, MIGRATION_NAMES } from '../observability/product-version.js';

/** ServiceInstance is a process of the service. Every process updates its row every two seconds, so `seenAt` is the time of its last commit. */
@Entity('service_instance')
export class ServiceInstance {
  /** ID generated at every start. The ID also identifies the process in rows that the process claims. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  role: 'all' | 'api' | 'worker';

  @Column('text')
  host: string;

  @Column('int')
  pid: number;

  /** Version of the product. */
  @Column('text')
  version: string;

  /** Name of the newest migration of this version. */
  @Column('text')
  schema: string;

  @Column('timestamptz')
  startedAt: Date;

  @Column('timestamptz')
  seenAt: Date;

  /** Offset of the process's clock from the database clock, in milliseconds; negative if behind. */
  @Column('int')
  clockOffsetMs: number;

  /** State of the background jobs, written less often than the rest of the row. Null in rows of the previous version. */
  @Column('jsonb', { nullable: true })
  background: BackgroundState[] | null;
}

export type InstanceRow = Omit<ServiceInstance, 'background'>;

/** InstanceJobs holds the state of the background jobs of one process. */
export interface InstanceJobs extends Pick<ServiceInstance, 'role' | 'host' | 'pid'> {
  readonly agoMs: number;
  readonly jobs: readonly BackgroundState[];
}

const COLUMNS = `id, role, host, pid, version, schema, started_at AS "startedAt", seen_at AS "seenAt", clock_offset_ms AS "clockOffsetMs"`;

/** Maximum number of rows read. No installation has more processes than this. */
const MAX_INSTANCES = 500;

/** DatabaseLook is the state of the database as seen by one process. */
export interface DatabaseLook {
  /** Time of the database clock. */
  readonly now: Date;
  /** True for a standby, which accepts no writes. */
  readonly standby: boolean;
  readonly epoch: Epoch | undefined;
  /** Number of migrations of this version that are recorded as applied. */
  readonly applied: number;
}

@Injectable()
export class InstanceRepository {
  constructor(private readonly db: DataSource) {}

  /** Runs `work` on one connection, so that the measurements of `work` exclude the wait for a free connection. */
  async onOneConnection<Result>(work: (on: EntityManager) => Promise<Result>): Promise<Result> {
    const runner = this.db.createQueryRunner();
    try {
      await runner.connect();
      return await work(runner.manager);
    } finally {
      await runner.release();
    }
  }

  async look(on: EntityManager): Promise<DatabaseLook> {
    const [row] = (await on.query(
      `SELECT clock_timestamp() AS now, pg_is_in_recovery() AS standby, e.min_reader AS "minReader", e.min_writer AS "minWriter",
         (SELECT count(*)::int FROM migrations WHERE name = ANY($1)) AS applied
       FROM (VALUES (1)) one (id) LEFT JOIN schema_epoch e ON e.id = one.id`,
      [MIGRATION_NAMES],
    )) as (Omit<DatabaseLook, 'epoch'> & { readonly minReader: number | null; readonly minWriter: number | null })[];
    if (row === undefined) throw new Error('the database returned no rows');
    const { now, standby, applied, minReader, minWriter } = row;
    return {
      now,
      standby,
      applied,
      epoch: minReader === null || minWriter === null ? undefined : { minReader, minWriter },
    };
  }

  /**
   * Rejects if the disk of the database has no space for a new file. An update of a row would not detect a full disk, because the update may need no new
   * space. The exported snapshot is a file that exists only during the statement.
   */
  async assertRoom(on: EntityManager): Promise<void> {
    await on.query('SELECT pg_export_snapshot()');
  }

  /**
   * Records that the process is alive, and returns all processes, starting with this process.
   *
   * @param jobs state of the background jobs; undefined keeps the stored state
   */
  async write(
    on: EntityManager,
    row: Omit<InstanceRow, 'seenAt'>,
    jobs?: readonly BackgroundState[],
  ): Promise<InstanceRow[]> {
    const { id, role, host, pid, version, schema, startedAt, clockOffsetMs } = row;
    return (await on.query(
      `WITH written AS (
         INSERT INTO service_instance AS i (id, role, host, pid, version, schema, started_at, seen_at, clock_offset_ms, background)
         VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), $8, $9)
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms,
           background = coalesce(excluded.background, i.background)
         RETURNING i.*)
       (SELECT ${COLUMNS} FROM written)
       UNION ALL (SELECT ${COLUMNS} FROM service_instance WHERE id <> $1 ORDER BY seen_at DESC LIMIT ${MAX_INSTANCES})`,
      [
        id,
        role,
        host,
        pid,
        version,
        schema,
        startedAt,
        clockOffsetMs,
        jobs === undefined ? null : JSON.stringify(jobs),
      ],
    )) as InstanceRow[];
  }

  /** Returns the processes seen within the last day, most recent first. Older rows are deleted. */
  async list(): Promise<InstanceRow[]> {
    return (await this.db.query(
      `SELECT ${COLUMNS} FROM service_instance ORDER BY seen_at DESC LIMIT ${MAX_INSTANCES}`,
    )) as InstanceRow[];
  }

  /** Returns the background jobs of the processes that were seen within the last day. */
  async jobs(): Promise<InstanceJobs[]> {
    return (await this.db.query(
      `SELECT role, host, pid, coalesce(background, '[]') AS jobs, extract(epoch FROM clock_timestamp() - seen_at)::float8 * 1000 AS "agoMs"
       FROM service_instance ORDER BY seen_at DESC LIMIT ${MAX_INSTANCES}`,
    )) as InstanceJobs[];
  }

  /** Removes the row of a process that exits normally. Remaining rows belong to processes that died. */
  async remove(id: string): Promise<void> {
    await this.db.query('DELETE FROM service_instance WHERE id = $1', [id]);
  }
}
