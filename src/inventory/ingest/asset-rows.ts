import { canonicalJson } from '../../platform/json/canonical-json.js';
import { withReferences } from '../cyclonedx/component-reader.js';
import { isDateTime } from '../cyclonedx/formats.js';
import { AssetGraph } from '../risk/asset-graph.js';
import { bitOf } from '../relationships/relationship-mask.js';
import { madeOnce } from '../risk/made-once.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import type { RiskSubject } from '../risk/risk-subject.js';
import type { RiskVerdict } from '../risk/risk-verdict.js';
import { SubjectReader } from '../risk/subject-reader.js';
import { hashId, hashIdOfText } from './asset-identity.js';
import type { CryptoProperties } from './draft.js';
import type { DocumentAssets, IdentifiedAsset } from './document-assets.js';

/** A row of `asset`, apart from what the database adds and what a verdict says of all its assets. */
export interface AssetRow {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  /** Undefined for a plain component. */
  readonly judged: VerdictRow | undefined;
  /** JSON. */
  readonly resolvedBy: string | null;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  /** JSON, as exports send it. */
  readonly component: string;
  readonly content: string;
}

export interface VerdictRow {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

/** A row of `asset_relationship`, apart from the source. */
export interface EdgeRow {
  readonly fromId: string;
  readonly toId: string;
  /** As relationship-mask.ts says. */
  readonly kinds: number;
}

/** The rows of what a document says, made when they are asked for. */
export class AssetRows {
  private readonly byFacts = new Map<string, VerdictRow>();
  /** Most assets of equal facts share their subject: only then is it looked into. */
  private readonly judge = madeOnce((subject: RiskSubject) => this.judged(subject));
  private reader: SubjectReader | undefined;

  constructor(
    private readonly assets: DocumentAssets,
    private readonly engine: RiskEngine,
  ) {}

  rowOf(asset: IdentifiedAsset): AssetRow {
    this.reader ??= new SubjectReader(new AssetGraph(this.assets.connected()));
    const { id, kind } = asset;
    const { subject, resolvedBy } = this.reader.read(asset);
    const plain = kind === 'component' && subject.notApplicable === true;
    const judged = plain ? undefined : this.judge(subject);
    const resolved = plain || resolvedBy === null ? null : JSON.stringify(resolvedBy);
    const { name, cryptoProperties: crypto } = asset.component;
    const cryptoProperties = crypto && withReferences(crypto, this.assets.idOf);
    const facts = canonicalJson({ ...asset.component, name: undefined, cryptoProperties });
    // All that is said about an algorithm is its identity; the random name of a key is none of its facts.
    const said = kind === 'algorithm' ? '' : facts;
    return {
      id,
      kind,
      name: name.slice(0, 500),
      judged,
      resolvedBy: resolved,
      ...validityOf(crypto),
      component: `{"name":${JSON.stringify(name)},${facts.slice(1)}`,
      content: hashIdOfText(`${said} ${judged?.id} ${resolved}`),
    };
  }

  /** Of the assets that were asked for. */
  verdicts(): VerdictRow[] {
    return [...this.byFacts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
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
const verdictsOf = madeOnce<RiskEngine, Map<string, VerdictRow>>(() => new Map());
const MOST_VERDICTS = 4096;
const MOST_FACTS = 2000;

function verdictRow(engine: RiskEngine, subject: RiskSubject, facts: string): VerdictRow {
  const all = verdictsOf(engine);
  const known = all.get(facts);
  if (known !== undefined) return known;
  const verdict = engine.judge(subject);
  const row = { id: hashId('verdict', subject), subject, verdict };
  if (all.size === MOST_VERDICTS) all.clear();
  if (facts.length < MOST_FACTS) all.set(facts, row);
  return row;
}

/** One row for all kinds of an edge, in the order of the table's key. */
export function edgeRows({ id: fromId, edges }: IdentifiedAsset): EdgeRow[] {
  const kinds = new Map<string, number>();
  for (const { kind, to } of edges) kinds.set(to.id, (kinds.get(to.id) ?? 0) | bitOf(kind));
  const rows = [...kinds].map(([toId, mask]) => ({ fromId, toId, kinds: mask }));
  return rows.length < 2 ? rows : rows.sort((a, b) => (a.toId < b.toId ? -1 : 1));
}

function validityOf(crypto: CryptoProperties | undefined) {
  const { certificateProperties: certificate, relatedCryptoMaterialProperties: material } = crypto ?? {};
  const dates = material === undefined ? certificate : { ...certificate, ...material };
  return {
    notBefore: instant(dates?.['notValidBefore'] ?? dates?.['activationDate']),
    notAfter: instant(dates?.['notValidAfter'] ?? dates?.['expirationDate']),
  };
}

/** UTC to the second, of a year that every program knows and a day that every month has. */
const PLAIN = /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** A time that PostgreSQL takes as well, or null. */
export function instant(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (PLAIN.test(value)) return value;
  if (!isDateTime(value)) return null;
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time.toISOString();
}
