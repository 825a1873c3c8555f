import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/**
 * MAX_COUNTED limits how many rows of a queue are counted. A longer queue is a problem regardless of its exact length, and counting all rows would be
 * expensive.
 */
const MAX_COUNTED = 10_000;

/** Pending work of a queue. */
export interface Backlog {
  /** Name of the queue, such as `signing`, or `outbox/signing` if a table carries several topics. */
  readonly queue: string;
  /** At most MAX_COUNTED. */
  readonly depth: number;
  /** Seconds since the oldest item was queued, by the database clock; 0 if the queue is empty. */
  readonly oldestSeconds: number;
}

interface Queue {
  readonly name: string;
  /** SQL after FROM, over `t`; must use an index. */
  readonly rows: string;
  /** SQL expression for the time at which a row was queued. */
  readonly since: string;
  /** SQL expression for the topic of a row. */
  readonly topic?: string;
}

/**
 * Every queue of the service. In a queue longer than MAX_COUNTED, the oldest row is the oldest of the counted rows. A row leaves its queue once its work is
 * done, so queues are short in normal operation.
 */
const QUEUES: readonly Queue[] = [
  { name: 'signing', rows: `signing_request t WHERE t.status = 'QUEUED'`, since: 't.created_at' },
  { name: 'signing-processing', rows: `signing_request t WHERE t.status = 'PROCESSING'`, since: 't.created_at' },
  { name: 'signing-approval', rows: `signing_request t WHERE t.status = 'PENDING_APPROVAL'`, since: 't.created_at' },
  { name: 'timestamps', rows: `timestamp t WHERE t.status = 'PENDING'`, since: 't.created_at' },
  {
    name: 'audit-log',
    rows: '(SELECT entry_id FROM log_waiting ORDER BY entry_id) w JOIN audit_entry t ON t.id = w.entry_id',
    since: 't.at',
  },
  { name: 'outbox', rows: 'outbox_message t', since: 't.created_at', topic: 't.topic' },
  { name: 'handover', rows: 'handover t', since: 't.created_at', topic: 't.topic' },
  { name: 'alert-events', rows: 'happening t', since: 't.at' },
  { name: 'mail', rows: 'mail_message t WHERE t.sent_at IS NULL AND t.given_up_at IS NULL', since: 't.created_at' },
  { name: 'webhooks', rows: `webhook_delivery t WHERE t.status = 'PENDING'`, since: 't.created_at' },
  { name: 'approval-notices', rows: 'approval_notice t WHERE t.told_at IS NULL', since: 't.created_at' },
  { name: 'imports', rows: 'inventory_import t WHERE t.ended_at IS NULL', since: 't.created_at' },
  { name: 'recounts', rows: 'inventory_recount t', since: 'now()' },
  { name: 'scans', rows: `scan t WHERE t.status IN ('QUEUED', 'RUNNING')`, since: 't.created_at' },
  { name: 'schedule-runs', rows: `schedule_run t WHERE t.status IN ('DUE', 'RUNNING')`, since: 't.created_at' },
];

const BACKLOGS = QUEUES.map(
  ({ name, rows, since, topic = `''` }) =>
    `SELECT '${name}' || CASE WHEN topic = '' THEN '' ELSE '/' || topic END AS queue, count(*)::int AS depth,
       greatest(0, coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0))::float8 AS "oldestSeconds"
     FROM (SELECT ${since} AS since, ${topic} AS topic FROM ${rows} LIMIT ${MAX_COUNTED}) q
     GROUP BY topic`,
).join(' UNION ALL ');

export interface NamedNumber {
  readonly name: string;
  readonly value: number;
}

/** Reads the state of the service from its tables, for operators, at a cost that does not grow with the tables. */
@Injectable()
export class OperationsReader {
  constructor(private readonly db: DataSource) {}

  /** Returns every queue, including empty queues. A queue with topics is returned only for topics with pending rows. */
  async backlogs(): Promise<Backlog[]> {
    const waiting = (await this.db.query(BACKLOGS)) as Backlog[];
    const silent = QUEUES.filter(({ name }) => !waiting.some(({ queue }) => queue.split('/')[0] === name));
    return [...waiting, ...silent.map(({ name }) => ({ queue: name, depth: 0, oldestSeconds: 0 }))];
  }

  /** Returns the seconds since the newest checkpoint of the log was signed; undefined if there is none. */
  async checkpointAge(): Promise<number | undefined> {
    const [row] = (await this.db.query(
      `SELECT extract(epoch FROM clock_timestamp() - at)::float8 AS age FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    )) as { age: number }[];
    return row?.age;
  }

  /**
   * Returns the days until the first certificate of an active signing key expires, by key purpose; only the newest certificate of each key counts.
   */
  async certificateDays(): Promise<NamedNumber[]> {
    return (await this.db.query(
      `SELECT name, min(days)::float8 AS value FROM (
         SELECT DISTINCT ON (k.id) CASE WHEN c.purposes && ARRAY['time-stamping'] THEN 'tsa' ELSE 'signing-key' END AS name,
           extract(epoch FROM c.not_after - now()) / 86400 AS days
         FROM signing_key k JOIN certificate c ON c.key_id = k.id AND c.key_version = k.version
         WHERE k.state = 'ACTIVE' ORDER BY k.id, c.id DESC) newest
       GROUP BY name`,
    )) as NamedNumber[];
  }

  /** Returns the number of open targets of SSH rotations, by state. */
  async rotationTargets(): Promise<NamedNumber[]> {
    return (await this.db.query(
      `SELECT state AS name, count(*)::int AS value FROM (
         SELECT state FROM ssh_rotation_target t WHERE t.outcome = 'OPEN' LIMIT ${MAX_COUNTED}) open
       GROUP BY state`,
    )) as NamedNumber[];
  }

  /** Returns the size of each table in bytes, including indexes. */
  async tableBytes(): Promise<NamedNumber[]> {
    return (await this.db.query(
      `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS value FROM pg_class c
       WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`,
    )) as NamedNumber[];
  }

  /** Returns the age of the oldest open transaction in this database, in seconds. VACUUM cannot remove rows that are visible to this transaction. */
  async oldestTransaction(): Promise<number> {
    const [row] = (await this.db.query(
      `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8 AS age FROM pg_stat_activity
       WHERE datname = current_database()`,
    )) as { age: number }[];
    return row?.age ?? 0;
  }
}
