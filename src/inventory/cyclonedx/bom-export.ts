import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { DataSource, type QueryRunner } from 'typeorm';
import { type AssetFilter, conditionsOf } from '../assets/asset-filter.js';
import { hashId } from '../ingest/asset-identity.js';
import { stopQueryTimer, type TimedQuery } from './copy-stream.js';

/** A download may take as long as its reader does, within reason. */
const EXPORT_TIMEOUT_MS = 30 * 60_000;
/** How many of the newest documents tell one snapshot from another: those in flight commit in any order. */
const RECENT = 1000;
/** Raw lines: JSON text holds neither of these characters, so nothing is ever quoted. */
const RAW = `(FORMAT csv, DELIMITER e'\\x02', QUOTE e'\\x01')`;

export interface BomExport {
  /** Names the snapshot and the filter: the same tag means the same bytes. */
  readonly tag: string;
  /** Undefined when the reader has this tag already. */
  readonly body: Readable | undefined;
}

interface Snapshot {
  readonly tag: string;
  readonly time: string;
}

/** Writes the inventory as one CycloneDX 1.6 document, row by row, out of one snapshot of the database. */
@Injectable()
export class BomExporter {
  constructor(private readonly db: DataSource) {}

  /** What is there now, unless another state is asked for. */
  async open(given: AssetFilter, knows: (tag: string) => boolean): Promise<BomExport> {
    const filter = Object.assign({}, given, { state: given.state ?? 'active' });
    const runner = this.db.createQueryRunner();
    let body: Readable | undefined;
    try {
      const client = (await runner.connect()) as PoolClient;
      await runner.startTransaction('REPEATABLE READ');
      await runner.query(`SET LOCAL statement_timeout = ${EXPORT_TIMEOUT_MS}`);
      await runner.query(`SET LOCAL idle_in_transaction_session_timeout = ${EXPORT_TIMEOUT_MS}`);
      const snapshot = await snapshotOf(runner, filter);
      if (!knows(snapshot.tag))
        body = Readable.from(this.text(runner, client, filter, snapshot), { objectMode: false });
      return { tag: snapshot.tag, body };
    } finally {
      if (body === undefined) await end(runner);
    }
  }

  private async *text(runner: QueryRunner, client: PoolClient, filter: AssetFilter, { tag, time }: Snapshot) {
    try {
      yield head(tag, time);
      yield* rows(client, await bound(runner, componentsQuery(filter)));
      yield '],\n"dependencies":[';
      yield* rows(client, await bound(runner, dependenciesQuery(filter)));
      yield ']}\n';
    } finally {
      await end(runner);
    }
  }
}

async function end(runner: QueryRunner): Promise<void> {
  try {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
  } finally {
    await runner.release();
  }
}

async function snapshotOf(runner: QueryRunner, filter: AssetFilter): Promise<Snapshot> {
  const [row] = (await runner.query(
    `SELECT md5(coalesce(string_agg(id::text, ',' ORDER BY id), '')) AS documents, max(received_at) AS time
     FROM (SELECT id, received_at FROM inventory_document ORDER BY id DESC LIMIT ${RECENT}) newest`,
  )) as { documents: string; time: Date | null }[];
  const tag = createHash('sha256')
    .update(`${row?.documents} ${JSON.stringify(filter)}`)
    .digest('hex')
    .slice(0, 32);
  return { tag, time: (row?.time ?? new Date(0)).toISOString() };
}

function head(tag: string, time: string): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${hashId('bom', tag)}`,
    version: 1,
    metadata: {
      timestamp: time,
      tools: { components: [{ type: 'application', name: 'Sealwright' }] },
    },
  };
  return `${JSON.stringify(document).slice(0, -1)},\n"components":[`;
}

interface Query {
  readonly text: string;
  readonly values: unknown[];
}

function componentsQuery(filter: AssetFilter): Query {
  const { where, values } = conditionsOf(filter, 'a');
  const places = `SELECT jsonb_agg(p.place ORDER BY p.place::text) AS list FROM (
      SELECT DISTINCT jsonb_strip_nulls(jsonb_build_object('location', o.location, 'line', o.line, 'offset', o.position,
        'symbol', o.symbol, 'additionalContext', o.context)) AS place
      FROM asset_occurrence o WHERE o.asset_id = a.id AND o.missed = 0 AND o.location <> '') p`;
  const text = `SELECT (a.component || jsonb_build_object('bom-ref', a.id::text)
      || CASE WHEN e.list IS NULL THEN '{}' ELSE jsonb_build_object('evidence', jsonb_build_object('occurrences', e.list)) END)::text
    FROM asset a LEFT JOIN LATERAL (${places}) e ON true ${clause(where)} ORDER BY a.id`;
  return { text, values };
}

/** One entry per asset, also for those that use nothing (CycloneDX 1.6, dependencies). */
function dependenciesQuery(filter: AssetFilter): Query {
  const { where, values } = conditionsOf(filter, 'a');
  const { where: within } = conditionsOf(filter, 't');
  const targets = (kind: string) => `'${kind}', (SELECT jsonb_agg(DISTINCT r.to_id::text ORDER BY r.to_id::text)
      FROM asset_relationship r JOIN asset t ON t.id = r.to_id
      WHERE r.from_id = a.id AND r.kind = '${kind}'${within.map((condition) => ` AND ${condition}`).join('')})`;
  const text = `SELECT jsonb_strip_nulls(jsonb_build_object('ref', a.id::text, ${targets('dependsOn')}, ${targets('provides')}))::text
    FROM asset a ${clause(where)} ORDER BY a.id`;
  return { text, values };
}

function clause(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
}

/** COPY takes no parameters: the server itself writes the values into the text as literals. */
async function bound(runner: QueryRunner, { text, values }: Query): Promise<string> {
  if (values.length === 0) return text;
  const list = values.map((_, index) => `quote_literal($${index + 1}::text)`).join(', ');
  const texts = values.map((value) => (value instanceof Date ? value.toISOString() : String(value)));
  const [row] = (await runner.query(`SELECT ARRAY[${list}] AS literals`, texts)) as { literals: string[] }[];
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => row?.literals[Number(number) - 1] ?? 'NULL');
}

/** The rows of a query, each a JSON text, with commas between them. */
async function* rows(client: PoolClient, text: string): AsyncGenerator<string | Buffer> {
  const copy = copyTo(`COPY (${text}) TO STDOUT ${RAW}`) as ReturnType<typeof copyTo> & TimedQuery;
  copy.query_timeout = EXPORT_TIMEOUT_MS;
  const stream = client.query(copy);
  let ended = false;
  let complete = false;
  try {
    yield '\n';
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // Byte by byte: a chunk may end within a row. The end of a row becomes a comma once another row follows.
      const bytes = chunk.toString('latin1');
      const last = bytes.endsWith('\n');
      const inner = (last ? bytes.slice(0, -1) : bytes).replaceAll('\n', ',\n');
      yield Buffer.from(ended ? `,\n${inner}` : inner, 'latin1');
      ended = last;
    }
    complete = true;
  } finally {
    stopQueryTimer(stream);
    // A reader that went away leaves a COPY under way: only the end of the connection stops it.
    if (!complete) (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }
}
