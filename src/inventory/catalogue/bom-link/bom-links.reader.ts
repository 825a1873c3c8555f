import { Injectable } from '@nestjs/common';
import { DataSource, Column, Entity, PrimaryColumn } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { bomLinkOf, parseBomLink, readRefs } from './bom-link.js';

/** Asset to which each bom-ref in a document refers. Documents with the same content share the row. */
@Entity('bom_link_refs')
export class BomLinkRefs {
  @PrimaryColumn('bytea')
  said: Buffer;

  /** Compressed JSON: a list of bom-ref and asset id pairs. */
  @Column('bytea')
  refs: Buffer;
}

/** An exported document, whose bom-refs are asset ids. */
@Entity('bom_link_export')
export class BomLinkExport {
  /** Serial number of the document. */
  @PrimaryColumn('uuid')
  serial: string;

  /** Time of the newest document in the export. */
  @Column('timestamptz')
  state: Date;

  @Column('timestamptz', { default: () => 'now()' })
  madeAt: Date;
}

const MAX_DOCUMENTS = 20;
/** Maximum number of links to one asset in a response. */
const MAX_LINKS = 1000;

/** LinkedDocument is the document that a link refers to. */
export interface LinkedDocument {
  readonly id: string;
  readonly serialNumber: string;
  readonly version: string;
  readonly source: string;
  readonly format: string;
  readonly receivedAt: Date;
  /** Newest version with the same serial number from the same source. */
  readonly newestVersion: string;
}

export interface LinkedAsset {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly level: number | null;
  readonly state: string;
}

export interface Resolved {
  /** The link in canonical form. */
  readonly link: string;
  readonly document: LinkedDocument;
  /** Present for a link to an element. */
  readonly asset?: LinkedAsset;
}

interface StoredDocument extends LinkedDocument {
  readonly refs: Buffer | null;
}

const COLUMNS = `d.id, d.serial_number AS "serialNumber", d.version, i.name AS source, d.format, d.received_at AS "receivedAt",
  (SELECT max(n.version) FROM inventory_document n WHERE n.serial_number = d.serial_number AND n.source_id = d.source_id) AS "newestVersion"`;
const FROM = `FROM inventory_document d JOIN inventory_source i ON i.id = d.source_id`;
/**
 * Condition that the document comes from the source that first used the serial number. A later document from another source therefore cannot take over the
 * links.
 */
const OF_FIRST_SOURCE = `d.source_id = (
  SELECT f.source_id FROM inventory_document f WHERE f.serial_number = d.serial_number ORDER BY f.received_at, f.id LIMIT 1)`;
const LINKABLE = `d.serial_number ~ '^urn:uuid:' AND d.version > 0`;

/** BomLinksReader resolves BOM-Links to imported or exported documents of any version and to the assets of their elements. */
@Injectable()
export class BomLinksReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  /** @throws Problem 400 `bom-link.invalid`, 404 `bom-link.missing`. */
  async resolve(link: string): Promise<Resolved> {
    const { uuid, version, ref } = parseBomLink(link);
    // Exports take precedence: if an export, or another document with the same serial number, is imported, links to the export still refer to the export.
    const own = await this.resolveExport(uuid, version, ref);
    if (own !== undefined) return own;
    const documents: StoredDocument[] = await this.db.query(
      `SELECT ${COLUMNS}, r.refs ${FROM} LEFT JOIN bom_link_refs r ON r.said = d.said
       WHERE d.serial_number = $1 AND d.version = $2 AND ${OF_FIRST_SOURCE} ORDER BY d.received_at DESC LIMIT ${MAX_DOCUMENTS}`,
      [`urn:uuid:${uuid}`, version],
    );
    if (documents.length === 0) throw unresolved('No document with this serial number and version is known.');
    for (const { refs, ...document } of documents) {
      if (ref === undefined) return { link: bomLinkOf(uuid, version), document };
      const id = refs === null ? undefined : (await readRefs(refs)).get(ref);
      const asset = id === undefined ? undefined : await this.asset(id);
      if (asset !== undefined) return { link: bomLinkOf(uuid, version, ref), document, asset };
    }
    throw unresolved('The document is known, but no asset in the inventory has this bom-ref.');
  }

  /** Returns the documents to which BOM-Links can refer, newest first. */
  async documents(serial: string | undefined, limit = DEFAULT_LIMIT, cursor?: string): Promise<Page<LinkedDocument>> {
    const list = `bom-links ${serial ?? ''}`;
    const [at, id] = this.cursors.read(list, cursor) ?? [];
    const rows: (LinkedDocument & { at: string })[] = await this.db.query(
      `SELECT ${COLUMNS}, d.received_at::text AS at ${FROM}
       WHERE ${LINKABLE} AND ($1::text IS NULL OR d.serial_number = $1)
         AND ($2::timestamptz IS NULL OR (d.received_at, d.id) < ($2, $3::uuid))
       ORDER BY d.received_at DESC, d.id DESC LIMIT ${limit + 1}`,
      [serial ?? null, at ?? null, id ?? null],
    );
    return this.cursors.page(list, rows, limit, (row) => [row.at, row.id]);
  }

  /** Returns the links to an asset, from each source's newest document that contains the asset. */
  async ofAsset(id: string): Promise<Resolved[]> {
    const asset = await this.asset(id);
    if (asset === undefined) throw missing('asset');
    const documents: StoredDocument[] = await this.db.query(
      `SELECT ${COLUMNS}, r.refs ${FROM} JOIN bom_link_refs r ON r.said = d.said
       WHERE ${LINKABLE} AND i.document_id = d.id
         AND i.id IN (SELECT source_id FROM asset_occurrence WHERE asset_id = $1 AND missed = 0)
       ORDER BY d.received_at DESC LIMIT ${MAX_DOCUMENTS}`,
      [id],
    );
    const links: Resolved[] = [];
    for (const { refs, ...document } of documents) {
      const found = refs === null ? [] : [...(await readRefs(refs))].filter(([, target]) => target === id);
      for (const [ref] of found.slice(0, MAX_LINKS - links.length))
        links.push({ link: bomLinkOf(document.serialNumber, document.version, ref), document, asset });
    }
    return links;
  }

  /** Resolves a link to an export or to an element of an export. @returns undefined if no export has the serial number */
  private async resolveExport(uuid: string, version: string, ref: string | undefined): Promise<Resolved | undefined> {
    const [row] = (await this.db.query('SELECT state FROM bom_link_export WHERE serial = $1', [uuid])) as {
      state: Date;
    }[];
    if (row === undefined) return undefined;
    if (version !== '1') throw unresolved('No document with this serial number and version is known.');
    const serialNumber = `urn:uuid:${uuid}`;
    const own = { version, source: 'Sealwright', format: 'CycloneDX 1.6', newestVersion: '1' };
    const document = { id: uuid, serialNumber, receivedAt: row.state, ...own };
    if (ref === undefined) return { link: bomLinkOf(uuid, version), document };
    const asset = await this.asset(ref);
    if (asset === undefined) throw unresolved('The document is known, but no asset in the inventory has this bom-ref.');
    return { link: bomLinkOf(uuid, version, ref), document, asset };
  }

  private async asset(id: string): Promise<LinkedAsset | undefined> {
    if (!UUID.test(id)) return undefined;
    const [row] = (await this.db.query('SELECT id, kind, name, level, state FROM judged_asset WHERE id = $1', [
      id,
    ])) as LinkedAsset[];
    return row;
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function unresolved(detail: string): Problem {
  return new Problem('missing', 'bom-link.missing', detail);
}
