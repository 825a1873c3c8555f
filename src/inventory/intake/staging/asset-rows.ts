import { Problem } from '../../../platform/errors/problem.js';
import {
  CopyRows,
  LENGTH_BYTES,
  bufferBehind,
  endOfRow,
  type RowBytes,
  rowsIn,
  uuidField,
} from '../../../platform/database/copy-rows.js';
import { canonicalJson, inCanonicalOrder, quoted } from '../../../platform/json/canonical-json.js';
import { truncate } from '../../../platform/text/truncate.js';
import { uuidAt, writeUuid } from '../../../platform/text/uuid-bytes.js';
import { MAX_COMPONENT_CHARACTERS, shortened } from './component-size.js';
import { isReference } from '../cyclonedx/component-reader.js';
import { hashId, hashIdOfText } from '../../model/asset-identity.js';
import { validityPeriodOf } from '../../model/date-time.js';
import type { CdxComponent, DraftAsset, DraftOccurrence } from '../../model/document.js';
import type { DraftRef, DraftRefs, RefLink } from '../../model/draft-refs.js';
import type { GraphAsset, GraphEdge } from '../../judgement/risk/asset-graph.js';
import { memoize } from '../../judgement/risk/memoize.js';
import type { Judge, Judgement, VerdictRow } from './judge.js';

/*
 * Rows of `asset` and `asset_occurrence`, encoded for COPY.
 *
 * A row is encoded as soon as its asset is read (`RowEncoder`). Rows are stored outside the V8 heap: a hundred thousand assets require only a few buffers,
 * instead of objects that the garbage collector visits repeatedly (docs/decisions/0075). The ids of the assets to which a component refers, and the verdict,
 * are still unknown when the row is encoded. In the JSON, placeholders of the same length represent the ids. The fields that depend on the verdict (`content`,
 * `resolved_by` and `verdict_id`) are missing.
 *
 * `RowWriter` adds the ids and these fields when the row is written to the database.
 */

/** Fields of a row in column order. `RowEncoder` writes the first six, `RowWriter` the remaining fields. */
export const ASSET_COLUMNS =
  'id, kind, name, not_before, not_after, component, content, resolved_by, verdict_id, proven';
const ASSET_FIELDS = 10;
export const PLACE_COLUMNS = 'asset_id, source_id, id, location, line, position, symbol, context';
const PLACE_FIELDS = 8;
/** Offset of a row's first field, the asset id. The number of fields and the length of the first field precede the id. */
const ASSET_ID_AT = 2 + LENGTH_BYTES;
/** Offset of the location id in a row of `asset_occurrence`. The number of fields, two ids and the length of the field precede the location id. */
const PLACE_ID_AT = 2 + 2 * (LENGTH_BYTES + 16) + LENGTH_BYTES;

const BUFFER_BYTES = 1024 * 1024;
/** ROW_BYTES is the space reserved for the row that fills a buffer. Most rows are shorter. */
const ROW_BYTES = 64 * 1024;
/** A quoted id that consists of NUL characters, which do not occur in JSON. */
const PLACEHOLDER = `"${'\0'.repeat(36)}"`;
/** Buffers released by earlier documents of this thread. */
const FREE_BUFFERS: Buffer[] = [];
const MAX_FREE_BUFFERS = 64;
/**
 * MAX_PLACES is the maximum number of locations per asset in one document. The limit is needed because every document that contains the asset, and every
 * export, reads the asset's locations from all sources.
 */
export const MAX_PLACES = 10_000;
/** MAX_NAME is the maximum length of a stored name in characters. */
export const MAX_NAME = 500;
const MAX_CONTRADICTORY = 100;
const NO_REFERENCES: readonly never[] = [];
const OPENING_BRACE = 0x7b;
/** Lists in a component whose order has no meaning. */
const UNORDERED: ReadonlySet<string> = new Set(['hashes', 'properties', 'tags']);
const NO_PLACE: DraftOccurrence = { location: '', line: null, position: null, symbol: null, context: null };

/** AssetRow is an encoded row of `asset`, followed by the rows of its locations. Positions are offsets into `bytes`. */
export interface AssetRow {
  readonly bytes: Buffer;
  readonly start: number;
  /** Start of the component JSON. `facts` is the start of the JSON after the name. */
  readonly json: number;
  readonly facts: number;
  readonly end: number;
  /** End of the location rows. */
  readonly placesEnd: number;
  /** References of the component, in the order of the placeholders. */
  readonly references: readonly DraftRef<IdentifiedAsset>[];
  /** Last day of validity (YYYY-MM-DD); null if the asset has no end of validity. */
  readonly expires: string | null;
}

/** IdentifiedAsset is an asset of a document with its identity. */
export interface IdentifiedAsset extends GraphAsset {
  id: string;
  /** Changes the id. Must not be called after any other value has been derived from the id. */
  rename(this: IdentifiedAsset, id: string): void;
  readonly row: AssetRow;
  /** Links as in the document, possibly with duplicates. Empty once `edges` are known. */
  links: readonly RefLink<IdentifiedAsset>[];
  edges: readonly GraphEdge[];
  /** Location rows from further mentions of the same asset. */
  morePlaces: RowBytes[];
  /** First mention of the same asset; undefined for the first mention itself. */
  first: IdentifiedAsset | undefined;
  /** Hash of subject, issuer and validity; undefined unless the component has all of these facts. */
  readonly stated: string | undefined;
  /** Whether the identity includes the asset's references. If the references are included, any change may result in a different asset at the same location. */
  isReferring: boolean;
  /** Whether all mentions of the asset were parsed from bytes (see DraftAsset). This does not apply to the asset's references. */
  isProven: boolean;
}

/** RowEncoder encodes the assets of a document while the document is read. */
export class RowEncoder {
  private readonly rows = new CopyRows(BUFFER_BYTES + ROW_BYTES, FREE_BUFFERS);
  private readonly full: Buffer[] = [];
  private readonly references: DraftRef<IdentifiedAsset>[] = [];
  private readonly source: Buffer;
  /** Number of components from which members were removed because the component was too large. */
  shortened = 0;
  /** Number of locations that were omitted because an asset had more than MAX_PLACES. */
  placesLeftOut = 0;

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

  /** Returns the row of `asset_occurrence` for an asset without a location. */
  noPlace(assetId: string): RowBytes {
    const rows = this.withRoom();
    const start = rows.length;
    this.encodePlaces(assetId, [NO_PLACE]);
    return rows.since(start);
  }

  /** Releases the buffers for the next document. Rows of this document cannot be used afterwards. */
  release(): void {
    this.full.push(this.rows.take());
    for (const buffer of this.full.splice(0))
      if (FREE_BUFFERS.length < MAX_FREE_BUFFERS) FREE_BUFFERS.push(...bufferBehind(buffer, BUFFER_BYTES + ROW_BYTES));
  }

  /** Encodes each location once, up to MAX_PLACES. */
  private encodePlaces(assetId: string, occurrences: readonly DraftOccurrence[]): void {
    const seen = occurrences.length > 1 ? new Set<string>() : undefined;
    for (const place of occurrences) {
      const id = placeId(place);
      if (seen?.has(id) === true) continue;
      if (seen?.size === MAX_PLACES) {
        this.placesLeftOut += 1;
        continue;
      }
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

  /** Returns the facts of a component as JSON. A component that is too large loses its largest dispensable members. @throws Problem `document.too-costly` */
  private boundedFactsOf(component: CdxComponent): string {
    const text = this.factsOf(component);
    if (text.length <= MAX_COMPONENT_CHARACTERS) return text;
    this.references.length = 0;
    const left = shortened(component);
    if (left === undefined) throw tooLarge(component);
    this.shortened += 1;
    return this.factsOf(left);
  }

  /** Returns canonical JSON without the opening brace and the name, with placeholders for the ids of references. */
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
  const detail = `contains the component "${truncate(name, 100)}" of more than ${MAX_COMPONENT_CHARACTERS} characters; send it in parts, or without its large members`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '', detail }],
  });
}

/** WrittenAsset is a classified asset. */
export interface WrittenAsset {
  readonly asset: IdentifiedAsset;
  /** Undefined for a component without cryptographic facts. */
  readonly verdict: VerdictRow | undefined;
  /** Hash of the attributes that can change without changing the asset's identity. */
  readonly content: string;
}

/** RowWriter writes the asset rows of a document. An asset is classified when its row is written, while the database processes earlier rows. */
export class RowWriter {
  /** Names of algorithms that contradict their object identifiers, up to a limit. */
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
    // The description of a key can contain facts that are not in the key itself, for example that the key is compromised.
    const isProven = asset.kind === 'certificate' && isProvenWhole(asset);
    const content = this.contentOf(asset, to.view(at + facts), isProven ? Buffer.concat([hashed, PROVEN]) : hashed);
    to.uuid(content);
    to.encoded(fields);
    to.bool(isProven);
    return { asset, verdict: judgement.verdict, content };
  }

  /** Classifies an asset without writing its row. */
  judged(asset: IdentifiedAsset): WrittenAsset {
    const judged = this.write(this.unwritten, asset);
    this.unwritten.clear();
    return judged;
  }

  /** Returns the verdicts of all assets classified so far. */
  verdicts(): VerdictRow[] {
    return this.judge.verdicts();
  }

  /** @param facts facts of the component, as encoded in the row */
  private contentOf({ kind }: IdentifiedAsset, facts: Buffer, hashed: Buffer): string {
    // All facts of an algorithm are part of its identity. The name is not hashed, because the names of keys are random.
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

/** Included in the content hash of an asset that was parsed from bytes, so that the hash differs from the hash of the same description without the bytes. */
const PROVEN = Buffer.from(' proven');

/** Reports whether the asset and all assets to which its component refers were parsed from bytes. */
function isProvenWhole({ isProven, edges }: GraphAsset): boolean {
  return (
    isProven === true && edges.every(({ kind, to }) => kind === 'dependsOn' || kind === 'provides' || isProvenWhole(to))
  );
}

/** storedContent returns the content hash of a stored asset, as computed by `RowWriter`. @param component JSON as stored in the row */
export function storedContent({ kind, name, isProven }: GraphAsset, component: string, judgement: Judgement): string {
  const { hashed: bare } = judgementFields(judgement);
  const hashed = isProven === true ? Buffer.concat([bare, PROVEN]) : bare;
  if (kind === 'algorithm') return hashIdOfText(hashed);
  const facts = `{${component.slice(headOf(name).length)}`;
  return kind === 'protocol'
    ? hashId(withoutOrder(JSON.parse(facts)), hashed.toString())
    : hashIdOfText(facts + hashed.toString());
}

/** Returns the start of a component's JSON: the name, which is not part of the facts. */
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

/** Sorts every list, because the order of lists in protocols has no meaning. */
function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return inCanonicalOrder(value.map(withoutOrder));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutOrder(member)]));
}

/**
 * Returns the parts of a row that depend on the classification: the bytes that are included in the hash `content`, and the encoded fields `resolved_by` and
 * `verdict_id`.
 */
function judgementFields({ verdict, resolvedBy }: Judgement) {
  const fields = new CopyRows(0);
  fields.text(resolvedBy);
  fields.uuid(verdict?.id ?? null);
  const isContradictory = verdict?.subject.quality?.includes('name-contradicts-oid') === true;
  return { hashed: Buffer.from(` ${verdict?.id} ${resolvedBy}`), fields: fields.take(), isContradictory };
}

/** Returns the ids that replace the placeholders, or undefined if one of the referenced assets is not in the document. */
function referencedIds({ row: { references } }: IdentifiedAsset): readonly string[] | undefined {
  if (references.length === 0) return NO_REFERENCES;
  const ids: string[] = [];
  for (const { asset } of references) if (asset !== undefined) ids.push(asset.id);
  return ids.length === references.length ? ids : undefined;
}

/** componentOf returns the component as JSON in the format used by exports. References are asset ids; dangling references keep their bom-ref. */
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

/** placesIn yields the location rows, each with the id of the location. */
export function* placesIn(places: RowBytes): Generator<RowBytes & { readonly id: string }> {
  for (const row of rowsIn(places)) yield { ...row, id: uuidAt(row.bytes, row.start + PLACE_ID_AT) };
}

/** renameRows changes the id of an asset in its rows. */
export function renameRows({ bytes, start, end, placesEnd }: AssetRow, id: string): void {
  writeUuid(bytes, id, start + ASSET_ID_AT);
  for (let place = end; place < placesEnd; place = endOfRow(bytes, place)) writeUuid(bytes, id, place + ASSET_ID_AT);
}
