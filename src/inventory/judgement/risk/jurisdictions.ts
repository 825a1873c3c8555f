import { algorithmUsesOf } from '../names/algorithm-uses.js';
import { type CryptoUse, cryptoUseOf } from '../names/crypto-use.js';
import { findFamily } from '../vocabularies/families.js';
import { DEFAULT_RULES, sourceUrl } from './default-rules.js';
import positionsFile from './positions.json' with { type: 'json' };
import { fitsAlgorithmUse, labelOf, type RiskEngine } from './risk-engine.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';
import type { Deadline } from '../../model/risk-verdict.js';
import type { RuleMatch } from '../../model/rule-set.js';

/** STANCES lists the stances of an authority on an algorithm, from best to worst. */
export const STANCES = ['FAVOURS', 'ACCEPTS', 'ACCEPTS_UNTIL', 'SILENT', 'DISCOURAGES', 'REJECTS'] as const;
export type Stance = (typeof STANCES)[number];

/** Opinion is one authority's position on one algorithm as of a given date. */
export interface Opinion {
  readonly jurisdiction: string;
  readonly stance: Stance;
  /** Status in the rules, or an explanation. */
  readonly reason: string | null;
  /** Last day of the previous state, or of the current state for `ACCEPTS_UNTIL`. */
  readonly date: string | null;
  /** Document that sets the deadline. */
  readonly authority: string | null;
  /** Section and scope within the document. */
  readonly provision: string | null;
  /** Link to the document; null if no link is known. */
  readonly url: string | null;
  readonly binding: boolean;
  readonly draft: boolean;
  /** True if checked against the primary source; false if taken from secondary sources; null if no position on the algorithm was found. */
  readonly verified: boolean | null;
}

/** Target is a possible replacement, with the jurisdictions that object to the replacement. */
export interface Target {
  readonly name: string;
  /** Jurisdictions that discourage or reject the replacement on the given day. If empty, the replacement satisfies all jurisdictions. */
  readonly objections: readonly string[];
}

interface Position {
  readonly jurisdiction: string;
  readonly match: Omit<RuleMatch, 'hybrid'> & { readonly hybrid?: 'STANDARD' | 'ANY' };
  readonly stance: Stance;
  /** Last day on which the algorithm is accepted. */
  readonly until?: string;
  readonly reason: string;
  readonly authority: string;
  readonly provision?: string;
  /** Null if the position follows from an omission in the document. */
  readonly verified: boolean | null;
}

const { jurisdictions, standardHybrids, targets } = positionsFile;
const POSITIONS = (positionsFile.positions as unknown as Position[]).flatMap((position) =>
  matchesOf(position.match).map((match) => ({ ...position, match })),
);
export const JURISDICTIONS: readonly string[] = jurisdictions;
/** States after which use may continue. Any other state ends the use. */
const SOFT = new Set(['deprecated', 'should-not', 'sole-classical-use-not-recommended']);
const OBJECTING: ReadonlySet<Stance> = new Set<Stance>(['DISCOURAGES', 'REJECTS']);

/** Authorities that publish lists of allowed algorithms. Algorithms that are not on the list are rejected. */
const POSITIVE_LISTS = new Map(positionsFile.positiveLists.map((list) => [list.jurisdiction, list]));
/** Authorities that evaluate hybrids by their parts. All other authorities have an explicit position on hybrids, or no position. */
const JUDGED_BY_PARTS: ReadonlySet<string> = new Set(positionsFile.judgedByParts);
/** Uses covered by lists of allowed algorithms. Key derivations, MACs and generators are never listed. */
const LISTED_USES: ReadonlySet<CryptoUse> = new Set(['key-establishment', 'encryption', 'signature', 'cipher', 'hash']);

/**
 * Returns the conditions of a position. STANDARD denotes hybrids with standard names, and other hybrids that combine a classical algorithm with ML-KEM-768 or
 * ML-KEM-1024.
 */
function matchesOf({ hybrid, ...match }: Position['match']): RuleMatch[] {
  if (hybrid === undefined) return [match];
  if (hybrid === 'ANY') return [{ ...match, hybrid: allHybrids() }];
  return [
    { ...match, hybrid: standardHybrids },
    { ...match, hybrid: ['hybrid'], param: ['768', '1024'] },
  ];
}

/** Returns the names and kinds of hybrids in the rules. */
function allHybrids(): string[] {
  return [...new Set(DEFAULT_RULES.rules.flatMap(({ match }) => match.hybrid ?? []))];
}

/**
 * opinionsOn returns each authority's position on an algorithm as of a given date: the worse of the published position and the position that follows from
 * passed deadlines. An authority that evaluates hybrids by their parts is never more favourable to a hybrid than to its best part. Algorithms missing from a
 * list of allowed algorithms are rejected (docs/decisions/0183).
 */
export function opinionsOn(ingredient: AlgorithmUse, day: string, engine: RiskEngine): Opinion[] {
  const { findings } = engine.judge({ kind: 'algorithm', ingredients: [ingredient] });
  const dated = findings.flatMap(({ deadlines, verified }) =>
    deadlines
      .filter(({ appliesTo }) => appliesTo === undefined)
      .map((deadline) => ({ ...deadline, verified: verified && deadline.verified !== false })),
  );
  const parts = (ingredient.parts ?? []).map((part) => opinionsOn(part, day, engine));
  return JURISDICTIONS.map((jurisdiction, index) => {
    const opinions = [
      ...ownOpinions(jurisdiction, ingredient, day),
      ...dated.filter((one) => one.jurisdiction === jurisdiction).map((deadline) => opinionOf(deadline, day)),
    ];
    const best = JUDGED_BY_PARTS.has(jurisdiction) ? bestOf(parts.flatMap((each) => each[index] ?? [])) : undefined;
    if (best !== undefined) opinions.push(best);
    const unlisted = opinions.length === 0 ? notListed(jurisdiction, ingredient) : undefined;
    return [...opinions, ...(unlisted === undefined ? [] : [unlisted])].reduce(worse, silent(jurisdiction));
  });
}

function ownOpinions(jurisdiction: string, ingredient: AlgorithmUse, day: string): Opinion[] {
  const own = POSITIONS.filter((one) => one.jurisdiction === jurisdiction && fitsAlgorithmUse(one.match, ingredient));
  return own.map(({ stance, until, reason, authority, provision = null, verified }) => ({
    jurisdiction,
    stance: until !== undefined && until >= day ? 'ACCEPTS_UNTIL' : stance,
    reason,
    date: until ?? null,
    authority,
    provision,
    url: sourceUrl(authority) ?? null,
    binding: false,
    draft: false,
    verified,
  }));
}

function opinionOf(deadline: Deadline, day: string): Opinion {
  const { jurisdiction, date, state, authority, provision = null, binding, draft, verified = true } = deadline;
  const stance = date >= day ? 'ACCEPTS_UNTIL' : SOFT.has(state) ? 'DISCOURAGES' : 'REJECTS';
  const url = deadline.url ?? null;
  return { jurisdiction, stance, reason: state, date, authority, provision, url, binding, draft, verified };
}

/** Returns the most favourable opinion on the parts of a hybrid. */
function bestOf(opinions: readonly Opinion[]): Opinion | undefined {
  const said = opinions.filter(({ stance }) => stance !== 'SILENT');
  return said.reduce<Opinion | undefined>(
    (best, one) => (best === undefined || STANCES.indexOf(one.stance) < STANCES.indexOf(best.stance) ? one : best),
    undefined,
  );
}

/** Returns a rejection if the authority has a list of allowed algorithms that does not contain the algorithm. */
function notListed(jurisdiction: string, ingredient: AlgorithmUse): Opinion | undefined {
  const list = POSITIVE_LISTS.get(jurisdiction);
  const isListed = LISTED_USES.has(cryptoUseOf(ingredient)) || isPublicKey(ingredient);
  if (list === undefined || !isListed) return undefined;
  const { reason, authority } = list;
  const url = sourceUrl(authority) ?? null;
  const what = { reason, date: null, authority, provision: null, url, binding: false, draft: false, verified: null };
  return { jurisdiction, stance: 'REJECTS', ...what };
}

function isPublicKey({ family, hybrid }: AlgorithmUse): boolean {
  return hybrid !== null || findFamily(family)?.nature !== undefined;
}

/** worse returns the worse of two opinions. Any other stance overrides SILENT. Of two opinions with future dates, the one with the earlier date is worse. */
export function worse(a: Opinion, b: Opinion): Opinion {
  if (a.stance === 'SILENT') return b;
  const difference = STANCES.indexOf(b.stance) - STANCES.indexOf(a.stance);
  if (difference !== 0) return difference > 0 ? b : a;
  const nearer = a.stance === 'ACCEPTS_UNTIL' ? (b.date ?? '') < (a.date ?? '') : (b.date ?? '') > (a.date ?? '');
  return nearer ? b : a;
}

function silent(jurisdiction: string): Opinion {
  const nothing = { reason: null, date: null, authority: null, provision: null, url: null };
  return { jurisdiction, stance: 'SILENT', ...nothing, binding: false, draft: false, verified: null };
}

export function isConflict(opinions: readonly Opinion[]): boolean {
  return opinions.some(({ stance }) => stance === 'FAVOURS') && opinions.some(({ stance }) => OBJECTING.has(stance));
}

export function objects({ stance }: Opinion): boolean {
  return OBJECTING.has(stance);
}

/** targetsOn returns replacements for algorithms with this purpose, in ascending order of objections. */
export function targetsOn(purpose: AlgorithmUse['purpose'], day: string, engine: RiskEngine): Target[] {
  const names = targets[purpose === 'signature' ? 'signature' : 'key-establishment'];
  return names
    .map((name) => {
      const [ingredient] = algorithmUsesOf(name);
      const opinions = ingredient === undefined ? [] : opinionsOn(ingredient, day, engine);
      return { name, objections: opinions.filter(objects).map(({ jurisdiction }) => jurisdiction) };
    })
    .sort((a, b) => a.objections.length - b.objections.length);
}

/** algorithmKey returns the key for an algorithm and purpose, to which opinions refer. */
export function algorithmKey(ingredient: AlgorithmUse): string {
  return `${labelOf(ingredient)} ${ingredient.purpose}`;
}
