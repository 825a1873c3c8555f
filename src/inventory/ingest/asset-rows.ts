import { withReferences } from '../cyclonedx/component-reader.js';
import { canonicalJson } from '../cyclonedx/canonical-json.js';
import { isDateTime } from '../cyclonedx/formats.js';
import { AssetGraph } from '../risk/asset-graph.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import type { ResolvedBy, RiskSubject } from '../risk/risk-subject.js';
import { type RiskVerdict, levelNumber } from '../risk/risk-verdict.js';
import { SubjectReader } from '../risk/subject-reader.js';
import {
  anonymousIdentity,
  hashId,
  hashIdOfText,
  ORDINAL_PROPERTY,
  ownIdentity,
  propertyOf,
  SCOPE_PROPERTY,
} from './asset-identity.js';
import type { CdxComponent, Draft, DraftAsset, DraftOccurrence } from './draft.js';

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
  readonly resolvedBy: ResolvedBy[] | null;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  readonly component: CdxComponent;
  readonly content: string;
}

export interface OccurrenceRow extends DraftOccurrence {
  readonly assetId: string;
  readonly id: string;
}

export interface RelationshipRow {
  readonly fromId: string;
  readonly kind: string;
  readonly toId: string;
}

export interface VerdictRow {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

export interface InventoryRows {
  readonly assets: AssetRow[];
  readonly occurrences: OccurrenceRow[];
  readonly relationships: RelationshipRow[];
  readonly verdicts: VerdictRow[];
}

/** Turns a draft into rows: gives every asset its identity, merges what is the same, and judges it. */
export function rowsOf(draft: Draft, scope: string, engine: RiskEngine): InventoryRows {
  const identified = identify(draft, scope);
  const graph = new AssetGraph();
  for (const { id, asset, component } of identified.assets.values()) graph.add({ id, kind: asset.kind, component });
  for (const { fromId, kind, toId } of identified.relationships.values()) graph.link(fromId, kind as 'dependsOn', toId);
  const reader = new SubjectReader(graph);
  const verdicts = new Map<string, VerdictRow>();
  const assets = [...identified.assets.values()].map(({ id, asset, component }) => {
    const { subject, resolvedBy } = reader.read({ id, kind: asset.kind, component });
    const plain = asset.kind === 'component' && subject.notApplicable === true;
    if (plain) return assetRow(id, asset, component, { verdict: null, resolvedBy: null });
    const key = JSON.stringify(subject);
    const known = verdicts.get(key) ?? { id: hashId('verdict', subject), subject, verdict: engine.judge(subject) };
    verdicts.set(key, known);
    return assetRow(id, asset, component, { verdict: known, resolvedBy });
  });
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  return {
    // One order for all writers, so that two that meet cannot deadlock.
    assets: assets.sort(byId),
    occurrences: [...identified.occurrences.values()],
    relationships: [...identified.relationships.values()],
    verdicts: [...verdicts.values()].sort(byId),
  };
}

interface Identified {
  readonly assets: Map<string, { id: string; asset: DraftAsset; component: CdxComponent }>;
  readonly occurrences: Map<string, OccurrenceRow>;
  readonly relationships: Map<string, RelationshipRow>;
}

function identify({ assets, links }: Draft, scope: string): Identified {
  const ids = new Map<string, string>();
  for (const asset of assets) {
    const identity = ownIdentity(asset);
    if (identity !== undefined) ids.set(asset.ref, hashId('asset', ...identity));
  }
  const scoped = identifyAnonymous(assets, links, ids, scope);
  const found: Identified = { assets: new Map(), occurrences: new Map(), relationships: new Map() };
  for (const asset of assets) {
    const id = ids.get(asset.ref) ?? '';
    const component = withReferences(scoped.get(asset.ref) ?? asset.component, (ref) => ids.get(ref));
    if (!found.assets.has(id)) found.assets.set(id, { id, asset, component });
    for (const row of occurrenceRows(id, asset.occurrences)) found.occurrences.set(`${id}${row.id}`, row);
  }
  for (const { from, to, kind } of links) {
    const [fromId, toId] = [ids.get(from), ids.get(to)];
    if (fromId === undefined || toId === undefined || fromId === toId) continue;
    found.relationships.set(`${fromId}${kind}${toId}`, { fromId, kind, toId });
  }
  return found;
}

/**
 * Anonymous assets that nothing tells apart are numbered in the order of their lines. What makes them themselves travels as
 * properties, so that an exported document gives them the same identity wherever it is read.
 */
function identifyAnonymous(
  assets: readonly DraftAsset[],
  links: Draft['links'],
  ids: Map<string, string>,
  scope: string,
): Map<string, CdxComponent> {
  const algorithms = new Map<string, string[]>();
  for (const { from, to } of links) {
    const id = ids.get(to);
    if (ids.has(from) || id === undefined) continue;
    const list = algorithms.get(from);
    if (list === undefined) algorithms.set(from, [id]);
    else list.push(id);
  }
  const changed = new Map<string, CdxComponent>();
  const counts = new Map<string, number>();
  const anonymous = assets.filter(({ ref }) => !ids.has(ref)).sort((a, b) => firstLine(a) - firstLine(b));
  for (const asset of anonymous) {
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const linked = [...new Set(algorithms.get(asset.ref) ?? [])];
    const identity = anonymousIdentity(asset, within, linked);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    ids.set(asset.ref, hashId('asset', ...identity, ordinal));
    if (given === undefined) changed.set(asset.ref, withScope(asset.component, within, ordinal));
  }
  return changed;
}

function firstLine({ occurrences }: DraftAsset): number {
  return Math.min(...occurrences.map(({ line }) => line ?? 0), Number.MAX_SAFE_INTEGER);
}

function withScope(component: CdxComponent, scope: string, ordinal: number): CdxComponent {
  const own = (component.properties ?? []).filter(({ name }) => name !== SCOPE_PROPERTY && name !== ORDINAL_PROPERTY);
  const properties = [
    ...own,
    { name: SCOPE_PROPERTY, value: scope },
    { name: ORDINAL_PROPERTY, value: String(ordinal) },
  ];
  return { ...component, properties };
}

const NOWHERE: DraftOccurrence = { location: '', line: null, position: null, symbol: null, context: null };

function occurrenceRows(assetId: string, occurrences: readonly DraftOccurrence[]): OccurrenceRow[] {
  const places = occurrences.length > 0 ? occurrences : [NOWHERE];
  return places.map(({ location, line, position, symbol, context }) => ({
    assetId,
    id: hashIdOfText(JSON.stringify([location, line, position, symbol, context])),
    location,
    line,
    position,
    symbol,
    context,
  }));
}

interface Judged {
  readonly verdict: VerdictRow | null;
  readonly resolvedBy: ResolvedBy[] | null;
}

function assetRow(
  id: string,
  asset: DraftAsset,
  component: CdxComponent,
  { verdict: row, resolvedBy }: Judged,
): AssetRow {
  // All that is said about an algorithm is its identity; the random name of a key is none of its facts.
  const said = asset.kind === 'algorithm' ? null : { ...component, name: '' };
  const verdictId = row?.id ?? null;
  return {
    id,
    kind: asset.kind,
    name: component.name.slice(0, 500),
    ...columnsOf(row?.verdict),
    verdictId,
    resolvedBy,
    ...validityOf(component),
    component,
    content: hashIdOfText(`${canonicalJson(said)} ${verdictId} ${JSON.stringify(resolvedBy)}`),
  };
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

/** A time that PostgreSQL takes as well, or null. */
export function instant(value: unknown): string | null {
  if (typeof value !== 'string' || !isDateTime(value)) return null;
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time.toISOString();
}
