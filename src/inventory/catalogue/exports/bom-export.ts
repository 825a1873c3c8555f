import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { DataSource } from 'typeorm';
import { newId } from '../../../platform/database/new-id.js';
import { Clock } from '../../../platform/work/clock.js';
import type { Caller } from '../../../access/caller.js';
import type { KeyLimits } from '../../../access/key-patterns.js';
import { JsonSignaturesService } from '../../../signing/verification/json-signatures.service.js';
import type { JsonSignature } from '../../../verifier/json-signature.js';
import { type AssetFilter, conditionsOf } from '../assets/asset-filter.js';
import { hashId } from '../../model/asset-identity.js';
import {
  allComponentsQueries,
  allDependenciesQueries,
  componentsQuery,
  dependenciesQuery,
  LOST_TARGETS,
  rowRangesOf,
  type ShownComponent,
} from './bom-queries.js';
import { canonicalDigest } from './canonical-digest.js';
import { type ExportVersion, inVersion } from './export-versions.js';
import { ExportSnapshots } from './export-snapshots.js';
import { NOTHING_OWN, OwnComponents, type OwnLines } from './own-components.js';
import type { Snapshot } from './snapshot.js';

/** Number of newest documents that identify a snapshot. One document is not sufficient, because transactions do not commit in document order. */
const RECENT = 1000;

export interface BomExport {
  /** Identifies the snapshot and the filter. Exports with the same tag have the same bytes. */
  readonly tag: string;
  /** Undefined if the client already has the document with this tag. */
  readonly body: Readable | undefined;
}

/** Properties of a requested document. */
interface Wanted {
  /** Whether this service's own cryptographic assets are included. */
  readonly own?: boolean;
  readonly version: ExportVersion;
  /** Principal whose limit on concurrent exports applies. */
  readonly principal: string | undefined;
  /** Limits the signing keys among the own assets. */
  readonly caller: KeyLimits;
}

/** A request for a document, by a client that may already have the document. */
interface Reader extends Wanted {
  /** Whether the client already has the document with this tag. */
  knows(tag: string): boolean;
}

/** A request for a signed document, with the caller and the signing key. */
interface SigningReader extends Wanted {
  readonly caller: Caller;
  readonly key: string;
  readonly filename: string;
}

/** Facts that identify an export. */
interface Edition {
  readonly tag: string;
  readonly time: string;
  readonly version: ExportVersion;
}

/** BomExporter writes the inventory as one CycloneDX document, row by row, from one snapshot of the database. */
@Injectable()
export class BomExporter {
  constructor(
    private readonly db: DataSource,
    private readonly exports: ExportSnapshots,
    private readonly clock: Clock,
    private readonly own: OwnComponents,
    private readonly signatures: JsonSignaturesService,
  ) {}

  /** Opens an export of active assets, unless the query selects another state. */
  async open(given: AssetFilter, { knows, ...wanted }: Reader): Promise<BomExport> {
    const snapshot = await this.exports.open(wanted.principal);
    let body: Readable | undefined;
    try {
      const source = await this.sourceOf(snapshot, given, wanted);
      const { tag } = source.edition;
      if (!knows(tag)) body = await this.write(source);
      return { tag, body };
    } finally {
      if (body === undefined) await snapshot.end();
    }
  }

  /**
   * Opens an export with an enveloped signature (JSF). The snapshot is read twice, first to compute the signed hash and then to write the response, so that a
   * signing failure never truncates a response.
   *
   * @throws Problem if signing fails.
   */
  async openSigned(given: AssetFilter, { key, filename, ...wanted }: SigningReader): Promise<Readable> {
    const signer = await this.signatures.signer(wanted.caller, key, { filename });
    const snapshot = await this.exports.open(wanted.principal);
    let body: Readable | undefined;
    try {
      const source = await this.sourceOf(snapshot, given, wanted);
      const { components, dependencies } = await linesOf(source);
      const members = { ...headOf(source.edition), signature: signer.facts };
      const digest = await canonicalDigest({ hash: signer.hash, members, lists: { components, dependencies } });
      body = await this.write(source, await signer.sign(digest));
      return body;
    } finally {
      if (body === undefined) await snapshot.end();
    }
  }

  private async sourceOf(snapshot: Snapshot, given: AssetFilter, { own, version, caller }: Wanted): Promise<Source> {
    const filter = Object.assign({}, given, { state: given.state ?? 'active' });
    const shown = conditionsOf(filter, 'a', this.clock.now());
    const lines = own === true ? await this.own.lines(snapshot, shown, caller) : NOTHING_OWN;
    const edition = await editionOf(snapshot, { filter, version }, lines);
    return {
      snapshot,
      edition,
      own: lines,
      shown: isEverything(filter) ? undefined : { ...shown, sourceId: sourceIdOf(filter) },
    };
  }

  private async write(source: Source, signature?: JsonSignature): Promise<Readable> {
    await this.note(source.edition);
    return source.snapshot.stream(documentOf(source.edition, await linesOf(source), signature));
  }

  /** Records the export, so that links into the document can be resolved. */
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

function sourceIdOf({ source }: AssetFilter): string | undefined {
  return source === undefined ? undefined : hashId('source', source);
}

/** Inputs of a document. */
interface Source {
  readonly snapshot: Snapshot;
  readonly edition: Edition;
  readonly own: OwnLines;
  /** Undefined if the export covers all active assets. */
  readonly shown: ShownComponent | undefined;
}

/** Lists of the document, as parts that contain lines. Each line is a comma and a JSON text. */
interface Lines {
  readonly components: AsyncIterable<Buffer>;
  readonly dependencies: AsyncIterable<Buffer>;
}

/** Returns the lists of the document as lines. The lists must be iterated sequentially, and each list only once. */
async function linesOf({ snapshot, edition, own, shown }: Source): Promise<Lines> {
  const { components, dependencies } = shown === undefined ? await allTexts(snapshot) : textsOf(snapshot, shown);
  return {
    components: inVersion(withOwn(components, own.components), edition.version),
    dependencies: withOwn(dependencies, own.dependencies),
  };
}

async function* withOwn(lines: AsyncIterable<Buffer>, own: readonly string[]): AsyncGenerator<Buffer> {
  yield* lines;
  if (own.length > 0) yield Buffer.from(`${own.join('\n')}\n`);
}

function textsOf(snapshot: Snapshot, shown: ShownComponent): Lines {
  return {
    components: snapshot.texts(componentsQuery(shown)),
    dependencies: snapshot.texts(dependenciesQuery(shown)),
  };
}

async function allTexts(snapshot: Snapshot): Promise<Lines> {
  await snapshot.readInOrder();
  const [row] = await snapshot.query<{ size: number; lost: string[] }>(
    `SELECT (pg_table_size('asset') + pg_table_size('asset_occurrence'))::float AS size, (${LOST_TARGETS}) AS lost`,
  );
  const { size = 0, lost = [] } = row ?? {};
  const stretches = rowRangesOf(size);
  return {
    components: snapshot.textsByTurns((turn) => allComponentsQueries({ stretches, ...turn })),
    dependencies: snapshot.textsByTurns((turn) => allDependenciesQueries({ stretches, ...turn }, lost)),
  };
}

async function* documentOf(
  edition: Edition,
  { components, dependencies }: Lines,
  signature: JsonSignature | undefined,
): AsyncGenerator<string | Buffer> {
  yield `${JSON.stringify(headOf(edition)).slice(0, -1)},\n"components":[`;
  yield* listed(components);
  yield '],\n"dependencies":[';
  yield* listed(dependencies);
  yield signature === undefined ? ']}\n' : `],\n"signature":${JSON.stringify(signature)}}\n`;
}

async function editionOf(
  snapshot: Snapshot,
  { filter, version }: { readonly filter: AssetFilter; readonly version: ExportVersion },
  { components }: OwnLines,
): Promise<Edition> {
  const [row] = await snapshot.query<{ documents: string; time: Date | null }>(
    `SELECT md5(coalesce(string_agg(id || ' ' || received_at, ',' ORDER BY id), '')) AS documents, max(received_at) AS time
     FROM (SELECT id, received_at FROM inventory_document ORDER BY received_at DESC, id LIMIT ${RECENT}) newest`,
  );
  const [judged] = await snapshot.query(
    'SELECT version, changed_assets FROM risk_rule_set ORDER BY version DESC LIMIT 1',
  );
  const tag = createHash('sha256')
    .update(
      `${version} ${row?.documents} ${JSON.stringify([judged ?? 0, filter])} ${passing(filter)}${components.join('')}`,
    )
    .digest('hex')
    .slice(0, 32);
  return { tag, time: (row?.time ?? new Date(0)).toISOString(), version };
}

/**
 * Returns a unique string if the filter has conditions on annotations or times, and '' otherwise. Annotations and times can change without a new document, so
 * each export with such conditions gets a new tag.
 */
function passing({ owner, label, q, lastSeenAfter, lastSeenBefore }: AssetFilter): string {
  const lasting = [owner, label, q, lastSeenAfter, lastSeenBefore].every((condition) => condition === undefined);
  return lasting ? '' : newId();
}

/** Returns the members of the document other than its lists. */
function headOf({ tag, time, version }: Edition) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: version,
    serialNumber: `urn:uuid:${serialOf(tag)}`,
    version: 1,
    metadata: {
      timestamp: time,
      tools: { components: [{ type: 'application', name: 'Sealwright' }] },
    },
  };
}

/** Yields the items of a list, without the comma at the start of the first line. */
async function* listed(lines: AsyncIterable<Buffer>): AsyncGenerator<string | Buffer> {
  yield '\n';
  let begun = false;
  for await (const part of lines) {
    yield begun ? part : part.subarray(1);
    begun = true;
  }
}
