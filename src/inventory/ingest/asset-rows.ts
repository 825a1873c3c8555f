import { quoted } from '../../platform/json/canonical-json.js';
import { AssetGraph } from '../risk/asset-graph.js';
import { bitOf } from '../model/relationship-mask.js';
import { memoize } from '../risk/memoize.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import type { ResolvedBy, RiskSubject } from '../model/risk-subject.js';
import type { RiskVerdict } from '../model/risk-verdict.js';
import { SubjectReader } from '../risk/subject-reader.js';
import { hashId, hashIdOfText } from '../model/asset-identity.js';
import { CopyRows, LENGTH } from './copy-rows.js';
import type { DocumentAssets } from './document-assets.js';
import type { IdentifiedAsset } from './identified-asset.js';

export interface VerdictRow {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

/** What is known of an asset when its row is written. */
export interface WrittenAsset {
  readonly asset: IdentifiedAsset;
  /** Undefined for a plain component. */
  readonly judged: VerdictRow | undefined;
  /** Hash of what may change while it stays the same asset. */
  readonly content: string;
}

/** A row of `asset_relationship`, apart from the source. */
export interface EdgeRow {
  readonly fromId: string;
  readonly toId: string;
  /** As relationship-mask.ts says. */
  readonly kinds: number;
}

/** What a verdict adds to a row. Assets of the same facts that were found in the same way share it. */
interface Ending {
  readonly judged: VerdictRow | undefined;
  /** Behind what is hashed. */
  readonly hashed: Buffer;
  /** `resolved_by` and `verdict_id`. */
  readonly fields: Buffer;
}

const SPACE = 64 * 1024;
const OPEN = 0x7b;

/** The rows of what a document says, judged when they are asked for. */
export class AssetRows {
  private readonly byFacts = new Map<string, VerdictRow>();
  /** Most assets of equal facts share their subject: only then is it looked into. */
  private readonly judge = memoize((subject: RiskSubject) => this.judged(subject));
  private readonly endings = memoize<RiskSubject, Map<ResolvedBy[] | null, Ending>>(() => new Map());
  private reader: SubjectReader | undefined;
  private scratch = Buffer.alloc(SPACE);
  /** For a row that is only looked at. */
  private readonly aside = new CopyRows(SPACE);

  constructor(
    private readonly assets: DocumentAssets,
    private readonly engine: RiskEngine,
  ) {}

  /** Writes a row of `asset`, in the order of `ASSET_COLUMNS`. */
  write(to: CopyRows, asset: IdentifiedAsset): WrittenAsset {
    const { bytes, start, text, facts, end } = asset.stored;
    const at = to.length - start;
    const ids = idsOf(asset);
    if (ids === undefined) {
      to.fields(bytes, start, text - LENGTH);
      to.text(componentOf(asset));
    } else {
      to.fields(bytes, start, end);
      if (ids.length > 0) to.fillZeros(at + text, ids);
    }
    const ending = this.endingOf(asset);
    const content = this.contentOf(asset, to.view(at + facts), ending);
    to.uuid(content);
    to.fields(ending.fields);
    return { asset, judged: ending.judged, content };
  }

  /** The same without a row. */
  look(asset: IdentifiedAsset): WrittenAsset {
    const seen = this.write(this.aside, asset);
    this.aside.clear();
    return seen;
  }

  /** Of the assets that were asked for. */
  verdicts(): VerdictRow[] {
    return [...this.byFacts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  private endingOf(asset: IdentifiedAsset): Ending {
    this.reader ??= new SubjectReader(new AssetGraph(this.assets.all()));
    const { subject, resolvedBy } = this.reader.read(asset);
    const known = this.endings(subject);
    let ending = known.get(resolvedBy);
    if (ending === undefined) {
      ending = this.ending(asset, subject, resolvedBy);
      known.set(resolvedBy, ending);
    }
    return ending;
  }

  private ending({ kind }: IdentifiedAsset, subject: RiskSubject, resolvedBy: ResolvedBy[] | null): Ending {
    const plain = kind === 'component' && subject.notApplicable === true;
    const judged = plain ? undefined : this.judge(subject);
    const resolved = plain || resolvedBy === null ? null : JSON.stringify(resolvedBy);
    const fields = new CopyRows(LENGTH);
    fields.text(resolved);
    fields.uuid(judged?.id ?? null);
    return { judged, hashed: Buffer.from(` ${judged?.id} ${resolved}`), fields: fields.take() };
  }

  /** @param facts as they stand in the row. */
  private contentOf({ kind }: IdentifiedAsset, facts: Buffer, { hashed }: Ending): string {
    // All that is said about an algorithm is its identity; the random name of a key is none of its facts.
    if (kind === 'algorithm') return hashIdOfText(hashed);
    const length = 1 + facts.length + hashed.length;
    if (this.scratch.length < length) this.scratch = Buffer.alloc(2 * length);
    const { scratch } = this;
    scratch[0] = OPEN;
    facts.copy(scratch, 1);
    hashed.copy(scratch, 1 + facts.length);
    return hashIdOfText(scratch.subarray(0, length));
  }

  private judged(subject: RiskSubject): VerdictRow {
    const facts = JSON.stringify(subject);
    let row = this.byFacts.get(facts);
    if (row === undefined) {
      row = verdictRow(this.engine, subject, facts);
      this.byFacts.set(facts, row);
    }
    return row;
  }
}

/** By the facts: documents are about the same algorithms. */
const verdictsOf = memoize<RiskEngine, Map<string, VerdictRow>>(() => new Map());
const MAX_VERDICTS = 4096;
const MAX_FACTS = 2000;

function verdictRow(engine: RiskEngine, subject: RiskSubject, facts: string): VerdictRow {
  const all = verdictsOf(engine);
  const known = all.get(facts);
  if (known !== undefined) return known;
  const verdict = engine.judge(subject);
  const row = { id: hashId('verdict', subject), subject, verdict };
  if (all.size === MAX_VERDICTS) all.clear();
  if (facts.length < MAX_FACTS) all.set(facts, row);
  return row;
}

const NO_IDS: readonly string[] = [];

/** Of what its component refers to; undefined when something of it is not in the document. */
function idsOf({ stored: { references } }: IdentifiedAsset): readonly string[] | undefined {
  if (references.length === 0) return NO_IDS;
  const ids: string[] = [];
  for (const { asset } of references) if (asset !== undefined) ids.push(asset.id);
  return ids.length === references.length ? ids : undefined;
}

/** JSON, as exports send it: references are ids, and those that lead nowhere stay as they are. */
export function componentOf({ stored: { bytes, text, end, references } }: IdentifiedAsset): string {
  const names = references.values();
  return bytes.toString('utf8', text, end).replaceAll(/"\0+"/g, () => {
    const { asset, name } = names.next().value ?? { asset: undefined, name: '' };
    return quoted(asset?.id ?? name);
  });
}

/** One row for all kinds of an edge, in the order of the table's key. */
export function edgeRows({ id: fromId, edges }: IdentifiedAsset): EdgeRow[] {
  const rows: EdgeRow[] = [];
  const [first] = edges;
  if (first === undefined) return rows;
  if (edges.every(({ to }) => to === first.to))
    return [{ fromId, toId: first.to.id, kinds: edges.reduce((mask, { kind }) => mask | bitOf(kind), 0) }];
  const kinds = new Map<string, number>();
  for (const { kind, to } of edges) kinds.set(to.id, (kinds.get(to.id) ?? 0) | bitOf(kind));
  for (const [toId, mask] of kinds) rows.push({ fromId, toId, kinds: mask });
  return rows.sort((a, b) => (a.toId < b.toId ? -1 : 1));
}
