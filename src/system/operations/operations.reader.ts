import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Rows of a queue that are counted: a longer one is an alert whatever its exact length, and to count it costs more the longer it is. */
const MAX_COUNTED = 10_000;

/** Work that waits. */
export interface Backlog {
  /** `signing`, or `outbox/signing` where a table carries several topics. */
  readonly queue: string;
  /** At most MAX_COUNTED. */
  readonly depth: number;
  /** Seconds since the oldest began to wait, by the clock of the database; 0 when nothing waits. */
  readonly oldestSeconds: number;
}

interface Queue {
  readonly name: string;
  /** SQL after FROM, over `t`, found by an index. */
  readonly rows: string;
  /** SQL: since when a row waits. */
  readonly since: string;
  /** SQL that distinguishes the topics of a table. */
  readonly topic?: string;
}

/**
 * Every queue of the service. In a queue longer than MAX_COUNTED, the oldest row is that of the counted rows. A row leaves its queue when its work is done,
 * so queues are short in normal operation.
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

/** Reads how the service is doing from its tables: for operators, at a cost that does not grow with them. */
@Injectable()
export class OperationsReader {
  constructor(private readonly db: DataSource) {}

  /** Every queue, also those in which nothing waits; those with topics only by the topics that wait. */
  async backlogs(): Promise<Backlog[]> {
    const waiting = (await this.db.query(BACKLOGS)) as Backlog[];
    const silent = QUEUES.filter(({ name }) => !waiting.some(({ queue }) => queue.split('/')[0] === name));
    return [...waiting, ...silent.map(({ name }) => ({ queue: name, depth: 0, oldestSeconds: 0 }))];
  }

  /** Seconds since the newest checkpoint of the log was signed; undefined if there is none. */
  async checkpointAge(): Promise<number | undefined> {
    const [row] = (await this.db.query(
      `SELECT extract(epoch FROM clock_timestamp() - at)::float8 AS age FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    )) as { age: number }[];
    return row?.age;
  }

  /** Days until the first certificate of an active signing key ends, by what the key is for: of each key the newest certificate counts. */
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

  /** Open targets of SSH rotations, by state. */
  async rotationTargets(): Promise<NamedNumber[]> {
    return (await this.db.query(
      `SELECT state AS name, count(*)::int AS value FROM (
         SELECT state FROM ssh_rotation_target t WHERE t.outcome = 'OPEN' LIMIT ${MAX_COUNTED}) open
       GROUP BY state`,
    )) as NamedNumber[];
  }

  /** Bytes of each table with its indexes. */
  async tableBytes(): Promise<NamedNumber[]> {
    return (await this.db.query(
      `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS value FROM pg_class c
       WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`,
    )) as NamedNumber[];
  }

  /** Age of the oldest open transaction of this database in seconds: rows that it may still see cannot be vacuumed. */
  async oldestTransaction(): Promise<number> {
    const [row] = (await this.db.query(
      `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8 AS age FROM pg_stat_activity
       WHERE datname = current_database()`,
    )) as { age: number }[];
    return row?.age ?? 0;
  }
}
