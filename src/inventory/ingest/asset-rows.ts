import { Problem } from '../../platform/errors/problem.js';
import {
  CopyRows,
  LENGTH_BYTES,
  bufferBehind,
  endOfRow,
  type RowBytes,
  rowsIn,
  uuidField,
} from '../../platform/database/copy/copy-rows.js';
import { canonicalJson, inCanonicalOrder, quoted } from '../../platform/json/canonical-json.js';
import { truncate } from '../../platform/text/truncate.js';
import { uuidAt, writeUuid } from '../../platform/text/uuid.js';
import { MAX_COMPONENT_CHARACTERS, shortened } from './component-size.js';
import { isReference } from '../cyclonedx/component-reader.js';
import { hashId, hashIdOfText } from '../model/asset-identity.js';
import { validityPeriodOf } from '../model/date-time.js';
import type { CdxComponent, DraftAsset, DraftOccurrence } from '../model/document.js';
import type { DraftRef, DraftRefs, RefLink } from '../model/draft-refs.js';
import type { GraphAsset, GraphEdge } from '../risk/asset-graph.js';
import { memoize } from '../risk/memoize.js';
import type { Judge, Judgement, VerdictRow } from './judge.js';

/*
 * Rows of `asset` and `asset_occurrence`, encoded for COPY.
 *
 * A row is encoded as soon as its asset is read (`RowEncoder`), and kept outside the heap of V8: a hundred thousand assets are a few
 * buffers instead of objects that the garbage collector visits again and again (decision 75). Two things are not known by then:
 *
 * - the ids of the assets that the component refers to: each reference leaves a placeholder in the JSON, as long as an id;
 * - the verdict: the last three fields of the row, `content`, `resolved_by` and `verdict_id`, are missing.
 *
 * `RowWriter` puts both in when the row is written to the database.
 */

/** The fields of a row in the order of the columns. `RowEncoder` writes six of nine, `RowWriter` the rest. */
export const ASSET_COLUMNS = 'id, kind, name, not_before, not_after, component, content, resolved_by, verdict_id';
const ASSET_FIELDS = 9;
export const PLACE_COLUMNS = 'asset_id, source_id, id, location, line, position, symbol, context';
const PLACE_FIELDS = 8;
/** Where the first field of a row begins, which is the id of the asset: behind the number of fields and its own length. */
const ASSET_ID_AT = 2 + LENGTH_BYTES;
/** Where a row of `asset_occurrence` has its own id: behind the number of fields, two ids and the length of the third. */
const PLACE_ID_AT = 2 + 2 * (LENGTH_BYTES + 16) + LENGTH_BYTES;

const BUFFER_BYTES = 1024 * 1024;
/** For the row that completes a buffer: most are no longer. */
const ROW_BYTES = 64 * 1024;
/** A quoted id of zeros: JSON has no zeros in it. */
const PLACEHOLDER = `"${'\0'.repeat(36)}"`;
/** Buffers of earlier documents of this thread. */
const FREE_BUFFERS: Buffer[] = [];
const MAX_FREE_BUFFERS = 64;
/** Characters of a name that are kept. */
export const MAX_NAME = 500;
const MAX_CONTRADICTORY = 100;
const NO_REFERENCES: readonly never[] = [];
const OPENING_BRACE = 0x7b;
/** Lists of a component whose order means nothing. */
const UNORDERED: ReadonlySet<string> = new Set(['hashes', 'properties', 'tags']);
const NO_PLACE: DraftOccurrence = { location: '', line: null, position: null, symbol: null, context: null };

/** An encoded row of `asset`, and behind it those of its places. Offsets into `bytes`. */
export interface AssetRow {
  readonly bytes: Buffer;
  readonly start: number;
  /** Where the JSON of the component begins, and in it what follows the name. */
  readonly json: number;
  readonly facts: number;
  readonly end: number;
  /** Where the rows of its places end. */
  readonly placesEnd: number;
  /** What the component refers to, in the order of the placeholders. */
  readonly references: readonly DraftRef<IdentifiedAsset>[];
  /** YYYY-MM-DD: the last day on which it is valid; null when it says none. */
  readonly expires: string | null;
}

/** An asset of a document, with its identity. */
export interface IdentifiedAsset extends GraphAsset {
  id: string;
  /** Changes the id, as long as nothing was derived from it. */
  rename(this: IdentifiedAsset, id: string): void;
  readonly row: AssetRow;
  /** Its links as the document has them, some more than once; none any more as soon as `edges` are known. */
  links: readonly RefLink<IdentifiedAsset>[];
  edges: readonly GraphEdge[];
  /** Rows of places that further mentions of the same asset add. */
  morePlaces: RowBytes[];
  /** The first mention of the same asset; undefined for the first one itself. */
  first: IdentifiedAsset | undefined;
  /** Hash of subject, issuer and validity of a certificate that says all of them. */
  readonly stated: string | undefined;
  /** Whether it is identified with what it refers to: what is at a place may then be another asset with every change. */
  isReferring: boolean;
}

/** Encodes the assets of one document while it is read. */
export class RowEncoder {
  private readonly rows = new CopyRows(BUFFER_BYTES + ROW_BYTES, FREE_BUFFERS);
  private readonly full: Buffer[] = [];
  private readonly references: DraftRef<IdentifiedAsset>[] = [];
  private readonly source: Buffer;
  /** Number of components that lost members because they were too large. */
  shortened = 0;

  constructor(
    private readonly refs: DraftRefs<IdentifiedAsset>,
    sourceId: string,
  ) {
    this.source = uuidField(sourceId);
  }

  encode(id: string, { kind, component, occurrences }: DraftAsset): AssetRow {
    const rows = this.withRoom();
    const start = rows.length;
    const { name } = component;
    const head = headOf(name);
    const text = head + this.boundedFactsOf(component);
    rows.row(ASSET_FIELDS);
    rows.uuid(id);
    rows.text(kind);
    rows.text(truncate(name, MAX_NAME));
    const { notBefore, notAfter } = validityPeriodOf(component.cryptoProperties);
    rows.timestamptz(notBefore);
    rows.timestamptz(notAfter);
    const json = rows.length + LENGTH_BYTES;
    rows.text(text);
    const facts = json + Buffer.byteLength(head);
    const end = rows.length;
    this.encodePlaces(id, occurrences);
    const { bytes, end: placesEnd } = rows.since(start);
    const references = this.references.length === 0 ? NO_REFERENCES : this.references.splice(0);
    return {
      bytes,
      start,
      json,
      facts,
      end,
      placesEnd,
      references,
      expires: notAfter === null ? null : notAfter.slice(0, 10),
    };
  }

  /** The row of the place of an asset that has none. */
  noPlace(assetId: string): RowBytes {
    const rows = this.withRoom();
    const start = rows.length;
    this.encodePlaces(assetId, [NO_PLACE]);
    return rows.since(start);
  }

  /** Gives the buffers to the next document: no row of this one may be used afterwards. */
  release(): void {
    this.full.push(this.rows.take());
    for (const buffer of this.full.splice(0))
      if (FREE_BUFFERS.length < MAX_FREE_BUFFERS) FREE_BUFFERS.push(...bufferBehind(buffer, BUFFER_BYTES + ROW_BYTES));
  }

  /** Each place once. */
  private encodePlaces(assetId: string, occurrences: readonly DraftOccurrence[]): void {
    const seen = occurrences.length > 1 ? new Set<string>() : undefined;
    for (const place of occurrences) {
      const id = placeId(place);
      if (seen?.has(id) === true) continue;
      seen?.add(id);
      this.encodePlace(assetId, id, place);
    }
  }

  private encodePlace(assetId: string, id: string, place: DraftOccurrence): void {
    const { rows } = this;
    rows.row(PLACE_FIELDS);
    rows.uuid(assetId);
    rows.encoded(this.source);
    rows.uuid(id);
    rows.text(place.location);
    rows.int4(place.line);
    rows.int4(place.position);
    rows.text(place.symbol);
    rows.text(place.context);
  }

  private withRoom(): CopyRows {
    if (this.rows.length >= BUFFER_BYTES) this.full.push(this.rows.take());
    return this.rows;
  }

  /** Returns the facts of a component. A component that is too large loses its largest dispensable members. @throws Problem `document.too-costly` */
  private boundedFactsOf(component: CdxComponent): string {
    const text = this.factsOf(component);
    if (text.length <= MAX_COMPONENT_CHARACTERS) return text;
    this.references.length = 0;
    const left = shortened(component);
    if (left === undefined) throw tooLarge(component);
    this.shortened += 1;
    return this.factsOf(left);
  }

  /** Canonical JSON without its opening brace and without the name, with placeholders for ids. */
  private factsOf(component: CdxComponent): string {
    const { cryptoProperties: crypto } = component;
    if (crypto === undefined) return canonicalJson({ ...component, name: undefined }).slice(1);
    let text = '';
    for (const member of Object.keys(component).sort()) {
      const value = component[member];
      if (value === undefined || member === 'name') continue;
      text += `${text === '' ? '' : ','}${JSON.stringify(member)}:`;
      if (member === 'cryptoProperties') text += canonicalJson(value, this.withPlaceholders);
      else text += UNORDERED.has(member) ? orderedJson(value) : canonicalJson(value);
    }
    return `${text}}`;
  }

  private readonly withPlaceholders = (text: string, name: string, within: string): string => {
    if (!isReference(name, within)) return quoted(text);
    this.references.push(this.refs.of(text));
    return PLACEHOLDER;
  };
}

function tooLarge({ name }: CdxComponent): Problem {
  const detail = `has a component, "${truncate(name, 100)}", of more than ${MAX_COMPONENT_CHARACTERS} characters; send it in parts, or without its large members`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '', detail }],
  });
}

/** A judged asset. */
export interface WrittenAsset {
  readonly asset: IdentifiedAsset;
  /** Undefined for a component that has no cryptographic facts. */
  readonly verdict: VerdictRow | undefined;
  /** Hash of what may change while it stays the same asset. */
  readonly content: string;
}

/** Writes the rows of a document's assets. Each is judged when it is written, while the database works on those before. */
export class RowWriter {
  /** Names of algorithms that contradict their object identifiers; of many, some. */
  readonly contradictory = new Set<string>();
  private readonly fieldsOf = memoize(judgementFields);
  private readonly unwritten = new CopyRows(ROW_BYTES);
  private scratch = Buffer.alloc(ROW_BYTES);

  constructor(private readonly judge: Judge) {}

  write(to: CopyRows, asset: IdentifiedAsset): WrittenAsset {
    const { bytes, start, json, facts, end } = asset.row;
    const at = to.length - start;
    const ids = referencedIds(asset);
    if (ids === undefined) {
      to.encoded(bytes, start, json - LENGTH_BYTES);
      to.text(componentOf(asset));
    } else {
      to.encoded(bytes, start, end);
      if (ids.length > 0) to.fillZeros(at + json, ids);
    }
    const judgement = this.judge.judge(asset);
    const { hashed, fields, isContradictory } = this.fieldsOf(judgement);
    if (isContradictory && this.contradictory.size < MAX_CONTRADICTORY) this.contradictory.add(asset.name);
    const content = this.contentOf(asset, to.view(at + facts), hashed);
    to.uuid(content);
    to.encoded(fields);
    return { asset, verdict: judgement.verdict, content };
  }

  /** Judges an asset whose row is not written. */
  judged(asset: IdentifiedAsset): WrittenAsset {
    const judged = this.write(this.unwritten, asset);
    this.unwritten.clear();
    return judged;
  }

  /** The verdicts of all assets judged so far. */
  verdicts(): VerdictRow[] {
    return this.judge.verdicts();
  }

  /** @param facts as they stand in the row. */
  private contentOf({ kind }: IdentifiedAsset, facts: Buffer, hashed: Buffer): string {
    // All facts of an algorithm are its identity; the random name of a key is none of its facts.
    if (kind === 'algorithm') return hashIdOfText(hashed);
    if (kind === 'protocol') return hashId(withoutOrder(JSON.parse(`{${facts.toString()}`)), hashed.toString());
    const length = 1 + facts.length + hashed.length;
    if (this.scratch.length < length) this.scratch = Buffer.alloc(2 * length);
    const { scratch } = this;
    scratch[0] = OPENING_BRACE;
    facts.copy(scratch, 1);
    hashed.copy(scratch, 1 + facts.length);
    return hashIdOfText(scratch.subarray(0, length));
  }
}

/** The content of an asset whose row is stored, as `RowWriter` hashes it. @param component as it stands in the row. */
export function storedContent({ kind, name }: GraphAsset, component: string, judgement: Judgement): string {
  const { hashed } = judgementFields(judgement);
  if (kind === 'algorithm') return hashIdOfText(hashed);
  const facts = `{${component.slice(headOf(name).length)}`;
  return kind === 'protocol'
    ? hashId(withoutOrder(JSON.parse(facts)), hashed.toString())
    : hashIdOfText(facts + hashed.toString());
}

/** The beginning of the JSON of a component: its name is none of its facts. */
function headOf(name: string): string {
  return `{"name":${quoted(name)},`;
}

function orderedJson(value: unknown): string {
  if (!Array.isArray(value) || value.length < 2) return canonicalJson(value);
  return `[${(value as unknown[])
    .map((item) => canonicalJson(item))
    .sort()
    .join()}]`;
}

/** With every list in one order: those of protocols have none. */
function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return inCanonicalOrder(value.map(withoutOrder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutOrder(member)]));
}

/** What a judgement adds to a row: bytes that `content` hashes, and the encoded fields `resolved_by` and `verdict_id`. */
function judgementFields({ verdict, resolvedBy }: Judgement) {
  const fields = new CopyRows(0);
  fields.text(resolvedBy);
  fields.uuid(verdict?.id ?? null);
  const isContradictory = verdict?.subject.quality?.includes('name-contradicts-oid') === true;
  return { hashed: Buffer.from(` ${verdict?.id} ${resolvedBy}`), fields: fields.take(), isContradictory };
}

/** The ids that replace the placeholders; undefined when the document lacks one of the assets. */
function referencedIds({ row: { references } }: IdentifiedAsset): readonly string[] | undefined {
  if (references.length === 0) return NO_REFERENCES;
  const ids: string[] = [];
  for (const { asset } of references) if (asset !== undefined) ids.push(asset.id);
  return ids.length === references.length ? ids : undefined;
}

/** The component as JSON, as exports send it: references are ids of assets; those to nothing in the document keep their name. */
export function componentOf({ row: { bytes, json, end, references } }: IdentifiedAsset): string {
  const names = references.values();
  return bytes.toString('utf8', json, end).replaceAll(/"\0+"/g, () => {
    const { asset, name } = names.next().value ?? { asset: undefined, name: '' };
    return quoted(asset?.id ?? name);
  });
}

function placeId({ location, line, position, symbol, context }: DraftOccurrence): string {
  return hashIdOfText(JSON.stringify([location, line, position, symbol, context]));
}

/** Rows of places, each with its id. */
export function* placesIn(places: RowBytes): Generator<RowBytes & { readonly id: string }> {
  for (const row of rowsIn(places)) yield { ...row, id: uuidAt(row.bytes, row.start + PLACE_ID_AT) };
}

/** Changes the id of an asset in its rows. */
export function renameRows({ bytes, start, end, placesEnd }: AssetRow, id: string): void {
  writeUuid(bytes, id, start + ASSET_ID_AT);
  for (let place = end; place < placesEnd; place = endOfRow(bytes, place)) writeUuid(bytes, id, place + ASSET_ID_AT);
}
