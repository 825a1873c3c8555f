import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ExportedLeaf, ExportHead, UnloggedEntry } from '../../verifier/log-verifier.js';
import { NIL_ID } from '../../platform/database/new-id.js';
import { IS_UNLOGGED } from './log-gaps.js';
import { LeafRowsReader, leafData } from './log-leaf.js';
import { LogReader } from './log-reader.js';
import { leafHashes } from './log-tiles.js';

/** Maximum number of entries in an export that are not in the log. */
const MAX_UNLOGGED = 100;
/** Number of leaves per query, which is four tiles. */
const LEAVES_PER_QUERY = 1024;

const ENTRIES_PER_QUERY = 5000;

interface UnloggedPart {
  /** Position at which the next part begins; null after the newest entry. */
  readonly last: string | null;
  readonly unlogged: UnloggedEntry['unlogged'][] | null;
}

/** SQL that reads a part of the entries after $1, with at most $2 entries that are not in the log. */
const UNLOGGED_PART = `
  WITH part AS MATERIALIZED (SELECT id, at, action FROM audit_entry WHERE id > $1 ORDER BY id LIMIT ${ENTRIES_PER_QUERY})
  SELECT (SELECT id FROM part ORDER BY id OFFSET ${ENTRIES_PER_QUERY - 1} LIMIT 1) AS last,
    (SELECT json_agg(u) FROM (SELECT e.id, e.at, e.action FROM part e WHERE ${IS_UNLOGGED} ORDER BY e.id LIMIT $2) u) AS unlogged`;

/** Exports the whole log up to the newest checkpoint as newline-delimited JSON, which can be verified without this service. */
@Injectable()
export class LogExport {
  constructor(
    private readonly db: DataSource,
    private readonly reader: LogReader,
    private readonly leaves: LeafRowsReader,
  ) {}

  async *lines(): AsyncGenerator<string> {
    const { size: text, note } = await this.reader.checkpoint();
    const { origin, publicKey } = await this.reader.key();
    const size = Number(text);
    const head: ExportHead = { log: origin, publicKey: publicKey.toString('base64'), size, checkpoint: note };
    yield `${JSON.stringify(head)}\n`;
    const last = Math.min(size, await this.leaves.size());
    for (let from = 0; from < last; from += LEAVES_PER_QUERY)
      yield await this.step(from, Math.min(from + LEAVES_PER_QUERY, last));
    yield* this.unlogged();
  }

  /**
   * Yields entries that the service did not write; normally there are none. All entries are checked, in parts, because a single statement over all
   * entries would eventually take too long.
   */
  private async *unlogged(): AsyncGenerator<string> {
    let left = MAX_UNLOGGED;
    for (let after: string | null = NIL_ID; after !== null && left > 0;) {
      const [part]: UnloggedPart[] = await this.db.query(UNLOGGED_PART, [after, left]);
      const found = part?.unlogged ?? [];
      if (found.length > 0) yield found.map(lineOf).join('');
      left -= found.length;
      after = part?.last ?? null;
    }
  }

  private async step(from: number, to: number): Promise<string> {
    const [hashes, rows] = await Promise.all([leafHashes(this.db.manager, from, to), this.leaves.rows(from, to)]);
    return rows
      .map((row, i): ExportedLeaf => {
        const { kind, entryId } = row;
        const data =
          kind === null || entryId === null ? undefined : leafData(kind, entryId, row.at === null ? undefined : row);
        const hash = hashes[i]?.toString('base64') ?? '';
        const parsed = data === undefined ? null : (JSON.parse(data) as object);
        return { index: from + i, kind: kind ?? 'missing', entryId: entryId ?? '', hash, data: parsed };
      })
      .map((leaf) => `${JSON.stringify(leaf)}\n`)
      .join('');
  }
}

/** Returns a line with the time in UTC: PostgreSQL's JSON contains the time in the connection's time zone. */
function lineOf({ id, at, action }: UnloggedEntry['unlogged']): string {
  return `${JSON.stringify({ unlogged: { id, at: new Date(at).toISOString(), action } } satisfies UnloggedEntry)}\n`;
}
