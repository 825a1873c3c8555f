import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { DataSource } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { Clock } from '../../platform/time/clock.js';
import { type AssetFilter, conditionsOf } from '../assets/asset-filter.js';
import { hashId } from '../ingest/asset-identity.js';
import {
  allComponentsQueries,
  allDependenciesQueries,
  componentsQuery,
  dependenciesQuery,
  LOST_TARGETS,
  stretchesOf,
  type Shown,
} from './bom-queries.js';
import { Exports } from './exports.js';
import { NOTHING_OWN, OwnComponents, type OwnLines } from './own-components.js';
import type { Snapshot } from './snapshot.js';

/** How many of the newest documents tell one snapshot from another: those in flight commit in any order. */
const RECENT = 1000;

export interface BomExport {
  /** Names the snapshot and the filter: the same tag means the same bytes. */
  readonly tag: string;
  /** Undefined when the reader has this tag already. */
  readonly body: Readable | undefined;
}

/** Who asks. */
export interface Reader {
  /** Whether the reader has the document of this tag already. */
  knows(tag: string): boolean;
  readonly own?: boolean;
}

/** What tells one export from another. */
interface Edition {
  readonly tag: string;
  readonly time: string;
}

/** Writes the inventory as one CycloneDX 1.6 document, row by row, out of one snapshot of the database. */
@Injectable()
export class BomExporter {
  constructor(
    private readonly db: DataSource,
    private readonly exports: Exports,
    private readonly clock: Clock,
    private readonly own: OwnComponents,
  ) {}

  /** What is there now, unless another state is asked for; with what this service has itself, when that is asked for. */
  async open(given: AssetFilter, { knows, own = false }: Reader): Promise<BomExport> {
    const filter = Object.assign({}, given, { state: given.state ?? 'active' });
    const { where, values } = conditionsOf(filter, 'a', this.clock.now());
    const snapshot = await this.exports.open();
    let body: Readable | undefined;
    try {
      const lines = own ? await this.own.lines(snapshot, { where, values }) : NOTHING_OWN;
      const edition = await editionOf(snapshot, filter, lines);
      if (!knows(edition.tag)) {
        await this.note(edition);
        const texts = isEverything(filter) ? await allTexts(snapshot) : textsOf(snapshot, { where, values });
        body = Readable.from(documentOf(snapshot, texts, { edition, lines }), { objectMode: false });
      }
      return { tag: edition.tag, body };
    } finally {
      if (body === undefined) await snapshot.end();
    }
  }

  /** Who holds the document may link to it. */
  private async note({ tag, time }: Edition): Promise<void> {
    await this.db.query('INSERT INTO bom_link_export (serial, state) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      serialOf(tag),
      time,
    ]);
  }
}

function serialOf(tag: string): string {
  return hashId('bom', tag);
}

function isEverything({ state, ...rest }: AssetFilter): boolean {
  return state === 'active' && Object.values(rest).every((condition) => condition === undefined);
}

/** Lines of the document: a comma and a JSON text each. */
interface Texts {
  readonly components: AsyncIterable<Buffer>;
  readonly dependencies: AsyncIterable<Buffer>;
}

function textsOf(snapshot: Snapshot, shown: Shown): Texts {
  return {
    components: snapshot.texts(componentsQuery(shown)),
    dependencies: snapshot.texts(dependenciesQuery(shown)),
  };
}

async function allTexts(snapshot: Snapshot): Promise<Texts> {
  await snapshot.readInOrder();
  const [row] = await snapshot.query<{ size: number; lost: string[] }>(
    `SELECT pg_relation_size('asset')::float AS size, (${LOST_TARGETS}) AS lost`,
  );
  const { size = 0, lost = [] } = row ?? {};
  const stretches = stretchesOf(size);
  return {
    components: snapshot.textsByTurns((turn) => allComponentsQueries({ stretches, ...turn })),
    dependencies: snapshot.textsByTurns((turn) => allDependenciesQueries({ stretches, ...turn }, lost)),
  };
}

async function* documentOf(
  snapshot: Snapshot,
  { components, dependencies }: Texts,
  { edition, lines }: { edition: Edition; lines: OwnLines },
) {
  const { tag, time } = edition;
  try {
    yield head(tag, time);
    yield* listed(components, lines.components);
    yield '],\n"dependencies":[';
    yield* listed(dependencies, lines.dependencies);
    yield ']}\n';
  } finally {
    await snapshot.end();
  }
}

async function editionOf(snapshot: Snapshot, filter: AssetFilter, { components }: OwnLines): Promise<Edition> {
  const [row] = await snapshot.query<{ documents: string; time: Date | null }>(
    `SELECT md5(coalesce(string_agg(id || ' ' || received_at, ',' ORDER BY id), '')) AS documents, max(received_at) AS time
     FROM (SELECT id, received_at FROM inventory_document ORDER BY received_at DESC, id LIMIT ${RECENT}) newest`,
  );
  const [judged] = await snapshot.query(
    'SELECT version, changed_assets FROM risk_rule_set ORDER BY version DESC LIMIT 1',
  );
  const tag = createHash('sha256')
    .update(`${row?.documents} ${JSON.stringify([judged ?? 0, filter])} ${passing(filter)}${components.join('')}`)
    .digest('hex')
    .slice(0, 32);
  return { tag, time: (row?.time ?? new Date(0)).toISOString() };
}

/** What people say of assets and how time passes leaves no trace in the documents: such a choice is new each time. */
function passing({ owner, label, q, lastSeenAfter, lastSeenBefore }: AssetFilter): string {
  const lasting = [owner, label, q, lastSeenAfter, lastSeenBefore].every((condition) => condition === undefined);
  return lasting ? '' : newId();
}

function head(tag: string, time: string): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serialOf(tag)}`,
    version: 1,
    metadata: {
      timestamp: time,
      tools: { components: [{ type: 'application', name: 'Sealwright' }] },
    },
  };
  return `${JSON.stringify(document).slice(0, -1)},\n"components":[`;
}

/** Lines of the database and further lines: the first comma goes. */
async function* listed(texts: AsyncIterable<Buffer>, further: readonly string[]): AsyncGenerator<string | Buffer> {
  yield '\n';
  let begun = false;
  for await (const text of texts) {
    yield begun ? text : text.subarray(1);
    begun = true;
  }
  if (further.length > 0) yield further.join('\n').slice(begun ? 0 : 1);
}
