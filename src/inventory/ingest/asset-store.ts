import { canonicalJson, quoted } from '../../platform/json/canonical-json.js';
import { isReference } from '../cyclonedx/component-reader.js';
import { hashIdOfText } from '../model/asset-identity.js';
import { CopyRows, LENGTH, memoryOf, type RowBytes, rowsIn, uuidAt } from './copy-rows.js';
import type { CdxComponent, DraftAsset, DraftOccurrence } from '../model/document.js';
import type { DraftRef, DraftRefs } from '../model/draft-refs.js';
import { validityOf } from '../model/validity.js';
import { truncate } from '../../platform/text/truncate.js';

/** Bytes of memory that is asked for at a time, and of the row that fills it: most are no longer. */
const PIECE = 1024 * 1024;
const ROOM = 64 * 1024;
/** As long as an id, which takes its place: no JSON has zeros in it. */
const HOLE = `"${'\0'.repeat(36)}"`;
/** Of documents that were read before by this thread, as long as it is there. */
const SPARE: Buffer[] = [];
const MAX_SPARE = 64;
const NONE: readonly never[] = [];
const MAX_NAME = 500;

/** The row of an asset as far as the asset itself tells it. What its document tells is put in when the row goes to the database. */
export interface StoredAsset<Asset> {
  readonly bytes: Buffer;
  readonly start: number;
  /** Where the component begins, and what it tells beside its name. */
  readonly text: number;
  readonly facts: number;
  readonly end: number;
  /** Where the rows of its places end, which follow. */
  readonly places: number;
  /** What the component refers to, in the order of the holes in its text. */
  readonly references: readonly DraftRef<Asset>[];
  /** The day until which it may be used. */
  readonly expires: string | null;
}

/** The places of an asset: rows of `asset_occurrence`. */
export type StoredPlaces = RowBytes;

/**
 * Rows of a document's assets while it is read: as bytes outside the heap of V8, which would look through them again and again as
 * objects. A hundred thousand assets are kept in a few pieces of memory.
 */
export class AssetStore<Asset> {
  private readonly rows = new CopyRows(PIECE + ROOM, SPARE);
  private readonly pieces: Buffer[] = [];
  private readonly references: DraftRef<Asset>[] = [];
  private readonly alone = new Map<DraftRef<Asset>, readonly DraftRef<Asset>[]>();
  private readonly source: Buffer;
  /** Thousands expire on the same day. */
  private readonly days = new Map<string, string>();

  /** @param sourceId of what tells of the places. */
  constructor(
    private readonly refs: DraftRefs<Asset>,
    sourceId: string,
  ) {
    const source = new CopyRows(ROOM);
    source.uuid(sourceId);
    this.source = source.take();
  }

  /** All of a row but what a verdict says, and where the asset is. */
  asset(id: string, { kind, component, occurrences }: DraftAsset): StoredAsset<Asset> {
    const rows = this.room();
    const start = rows.length;
    const { name, cryptoProperties: crypto } = component;
    const head = `{"name":${quoted(name)},`;
    const text = head + this.factsOf(component);
    rows.row(ASSET_FIELDS);
    rows.uuid(id);
    rows.text(kind);
    rows.text(truncate(name, MAX_NAME));
    const { notBefore, notAfter } = validityOf(crypto);
    rows.timestamptz(notBefore);
    rows.timestamptz(notAfter);
    const before = rows.length + LENGTH;
    rows.text(text);
    const facts = before + Buffer.byteLength(head);
    const end = rows.length;
    this.writePlaces(id, occurrences);
    const { bytes, end: places } = rows.since(start);
    return {
      bytes,
      start,
      text: before,
      facts,
      end,
      places,
      references: this.referred(),
      expires: this.dayOf(notAfter),
    };
  }

  /** For one that no component told a place of. */
  nowhere(assetId: string): StoredPlaces {
    const rows = this.room();
    const start = rows.length;
    this.writePlaces(assetId, [NOWHERE]);
    return rows.since(start);
  }

  /** What it has kept is not asked for any more. */
  release(): void {
    this.pieces.push(this.rows.take());
    for (const piece of this.pieces.splice(0))
      if (SPARE.length < MAX_SPARE) SPARE.push(...memoryOf(piece, PIECE + ROOM));
  }

  /** Each place once; most assets have one. */
  private writePlaces(assetId: string, occurrences: readonly DraftOccurrence[]): void {
    const seen = occurrences.length > 1 ? new Set<string>() : undefined;
    for (const place of occurrences) {
      const id = placeId(place);
      if (seen?.has(id) === true) continue;
      seen?.add(id);
      this.place(assetId, id, place);
    }
  }

  /** Most refer to nothing, or to one thing that many refer to. */
  private referred(): readonly DraftRef<Asset>[] {
    const { references } = this;
    const [only] = references;
    if (only === undefined) return NONE;
    const made = references.length === 1 ? (this.alone.get(only) ?? [only]) : references.slice();
    if (references.length === 1) this.alone.set(only, made);
    references.length = 0;
    return made;
  }

  private room(): CopyRows {
    // What was taken stays with whoever knows where it is.
    if (this.rows.length >= PIECE) this.pieces.push(this.rows.take());
    return this.rows;
  }

  private dayOf(time: string | null): string | null {
    if (time === null) return null;
    const day = time.slice(0, 10);
    const known = this.days.get(day);
    if (known === undefined) this.days.set(day, day);
    return known ?? day;
  }

  private place(assetId: string, id: string, { location, line, position, symbol, context }: DraftOccurrence): void {
    const { rows } = this;
    rows.row(PLACE_FIELDS);
    rows.uuid(assetId);
    rows.fields(this.source);
    rows.uuid(id);
    rows.text(location);
    rows.int4(line);
    rows.int4(position);
    rows.text(symbol);
    rows.text(context);
  }

  /** Canonical JSON without the name and without its opening brace, with holes for ids. */
  private factsOf(component: CdxComponent): string {
    const { cryptoProperties: crypto } = component;
    if (crypto === undefined) return canonicalJson({ ...component, name: undefined }).slice(1);
    let text = '';
    for (const member of Object.keys(component).sort()) {
      const value = component[member];
      if (value === undefined || member === 'name') continue;
      text += `${text === '' ? '' : ','}${JSON.stringify(member)}:`;
      text += member === 'cryptoProperties' ? canonicalJson(value, this.referring) : canonicalJson(value);
    }
    return `${text}}`;
  }

  private readonly referring = (text: string, name: string, within: string): string => {
    if (!isReference(name, within)) return quoted(text);
    this.references.push(this.refs.of(text));
    return HOLE;
  };
}

/** In the order in which a store writes them; the rest is of `AssetRows`. */
export const ASSET_COLUMNS = 'id, kind, name, not_before, not_after, component, content, resolved_by, verdict_id';
const ASSET_FIELDS = 9;
export const PLACE_COLUMNS = 'asset_id, source_id, id, location, line, position, symbol, context';
const PLACE_FIELDS = 8;
/** Where a row of a place has its id: behind the number of fields, two ids and its own length. */
const ID_OF_PLACE = 2 + 2 * (LENGTH + 16) + LENGTH;

const NOWHERE: DraftOccurrence = { location: '', line: null, position: null, symbol: null, context: null };

function placeId({ location, line, position, symbol, context }: DraftOccurrence): string {
  return hashIdOfText(JSON.stringify([location, line, position, symbol, context]));
}

/** The rows of places, each with its id. */
export function* placesIn(places: StoredPlaces): Generator<RowBytes & { readonly id: string }> {
  for (const row of rowsIn(places)) yield { ...row, id: uuidAt(row.bytes, row.start + ID_OF_PLACE) };
}

/** Gives the rows of an asset and its places another id. */
export function renameRows<Asset>({ bytes, start, end, places }: StoredAsset<Asset>, id: string): void {
  const digits = id.replaceAll('-', '');
  bytes.write(digits, start + FIRST_ID, 'hex');
  for (const row of rowsIn({ bytes, start: end, end: places })) bytes.write(digits, row.start + FIRST_ID, 'hex');
}

/** Where the id of a row's asset is: behind the number of fields and the length of the id. */
const FIRST_ID = 2 + LENGTH;
