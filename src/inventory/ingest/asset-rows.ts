import { canonicalJson } from '../../platform/json/canonical-json.js';
import { isDateTime } from '../cyclonedx/formats.js';
import { AssetGraph } from '../risk/asset-graph.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import type { RiskSubject } from '../risk/risk-subject.js';
import { type RiskVerdict, levelNumber } from '../risk/risk-verdict.js';
import { SubjectReader } from '../risk/subject-reader.js';
import { hashId, hashIdOfText } from './asset-identity.js';
import type { CdxComponent, Draft } from './draft.js';
import {
  edgeRows,
  type EdgeRow,
  type Identified,
  type IdentifiedAsset,
  identify,
  type OccurrenceRow,
  occurrenceRows,
} from './identify.js';

/** A row of `asset`, apart from what the database adds. */
export interface AssetRow {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly family: string | null;
  readonly bits: number | null;
  readonly level: number | null;
  readonly quantum: string | null;
  readonly classical: string | null;
  readonly rule: string | null;
  readonly deadline: string | null;
  readonly verdictId: string | null;
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

/**
 * A draft as rows. They are made when they are asked for, so that the database works on the first while the last are still being made.
 * All come in the order of the ids: one order for all writers, so that two that meet cannot deadlock, and that of the indexes.
 */
export class DocumentRows {
  readonly ids: readonly string[];
  readonly relationships: readonly EdgeRow[];
  /** What each bom-ref stands for. */
  readonly refs: ReadonlyMap<string, string>;
  private readonly assetsById: Identified['assets'];
  private readonly reader: SubjectReader;
  private readonly judged = new Map<string, VerdictRow>();

  constructor(
    draft: Draft,
    scope: string,
    private readonly engine: RiskEngine,
  ) {
    const { assets, sorted, relationships, refs } = identify(draft, scope);
    this.ids = sorted;
    this.relationships = edgeRows(relationships);
    this.refs = refs;
    this.assetsById = assets;
    this.reader = new SubjectReader(new AssetGraph(assets, relationships));
  }

  *assets(ids = this.ids): Generator<AssetRow> {
    for (const id of ids) {
      const asset = this.assetsById.get(id);
      if (asset !== undefined) yield this.assetRow(asset);
    }
  }

  *occurrences(ids = this.ids): Generator<OccurrenceRow> {
    for (const id of ids) {
      const asset = this.assetsById.get(id);
      if (asset !== undefined) yield* occurrenceRows(asset);
    }
  }

  /** Of the assets that were asked for. */
  verdicts(): VerdictRow[] {
    return [...this.judged.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  private assetRow(asset: IdentifiedAsset): AssetRow {
    const { id, kind, component } = asset;
    const { subject, resolvedBy } = this.reader.read(asset);
    const plain = kind === 'component' && subject.notApplicable === true;
    const row = plain ? undefined : this.judge(subject);
    const resolved = plain || resolvedBy === null ? null : JSON.stringify(resolvedBy);
    const { name, ...rest } = component;
    const facts = canonicalJson(rest);
    // All that is said about an algorithm is its identity; the random name of a key is none of its facts.
    const said = kind === 'algorithm' ? '' : facts;
    return {
      id,
      kind,
      name: name.slice(0, 500),
      ...columnsOf(row?.verdict),
      verdictId: row?.id ?? null,
      resolvedBy: resolved,
      ...validityOf(component),
      component: `{"name":${JSON.stringify(name)},${facts.slice(1)}`,
      content: hashIdOfText(`${said} ${row?.id} ${resolved}`),
    };
  }

  private judge(subject: RiskSubject): VerdictRow {
    const key = JSON.stringify(subject);
    const known = this.judged.get(key);
    if (known !== undefined) return known;
    const row = { id: hashId('verdict', subject), subject, verdict: this.engine.judge(subject) };
    this.judged.set(key, row);
    return row;
  }
}

/** What lists filter and sort by. */
export function columnsOf(verdict: RiskVerdict | undefined) {
  if (verdict === undefined)
    return { family: null, bits: null, level: null, quantum: null, classical: null, rule: null, deadline: null };
  const { family, bits, level, quantum, classical, rule, deadline } = verdict;
  return {
    family,
    bits,
    level: levelNumber(level),
    quantum: quantum.status,
    classical: classical.status,
    rule,
    deadline,
  };
}

function validityOf({ cryptoProperties }: CdxComponent) {
  const dates = { ...cryptoProperties?.certificateProperties, ...cryptoProperties?.relatedCryptoMaterialProperties };
  return {
    notBefore: instant(dates['notValidBefore'] ?? dates['activationDate']),
    notAfter: instant(dates['notValidAfter'] ?? dates['expirationDate']),
  };
}

/** UTC to the second, of a year that every program knows. */
const PLAIN = /^(?:19|20)\d\d-.{14}[0-5]\dZ$/;

/** A time that PostgreSQL takes as well, or null. */
export function instant(value: unknown): string | null {
  if (typeof value !== 'string' || !isDateTime(value)) return null;
  if (PLAIN.test(value)) return value;
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time.toISOString();
}
