import positionsFile from './positions.json' with { type: 'json' };
import { algorithmUsesOf } from '../names/algorithm-uses.js';
import { fitsAlgorithmUse, labelOf, type RiskEngine } from './risk-engine.js';
import type { AlgorithmUse } from '../model/risk-subject.js';
import type { RuleMatch } from '../model/rule-set.js';

/** From the best to the worst. */
export const STANCES = ['FAVOURS', 'ACCEPTS', 'ACCEPTS_UNTIL', 'SILENT', 'DISCOURAGES', 'REJECTS'] as const;
export type Stance = (typeof STANCES)[number];

/** The position of one authority on one algorithm on a day. */
export interface Opinion {
  readonly jurisdiction: string;
  readonly stance: Stance;
  /** Its words: a status of the rules, or a sentence. */
  readonly reason: string | null;
  /** The last day of the old state: of what has passed, or of what is to come (`ACCEPTS_UNTIL`). */
  readonly date: string | null;
  readonly authority: string | null;
  readonly binding: boolean;
  readonly draft: boolean;
  readonly verified: boolean;
}

/** Something to move to, and who would object. */
export interface Target {
  readonly name: string;
  /** Jurisdictions that discourage or reject it on that day. Empty: it satisfies all. */
  readonly objections: readonly string[];
}

interface Position {
  readonly jurisdiction: string;
  readonly match: Omit<RuleMatch, 'hybrid'> & { readonly hybrid?: 'STANDARD' };
  readonly stance: Stance;
  /** Accepted to the end of this day. */
  readonly until?: string;
  readonly reason: string;
  readonly authority: string;
  readonly verified: boolean;
}

const { jurisdictions, standardHybrids, targets } = positionsFile;
const POSITIONS = (positionsFile.positions as unknown as Position[]).map((position) => ({
  ...position,
  match: matchOf(position.match),
}));
export const JURISDICTIONS: readonly string[] = jurisdictions;
/** States after which there may still be use; any other ends it. */
const SOFT = new Set(['deprecated', 'should-not', 'sole-classical-use-not-recommended']);
const OBJECTING: ReadonlySet<Stance> = new Set<Stance>(['DISCOURAGES', 'REJECTS']);

function matchOf({ hybrid, ...match }: Position['match']): RuleMatch {
  return hybrid === undefined ? match : { ...match, hybrid: standardHybrids };
}

/** The position of each authority on an algorithm on a day: the worst of its own statement and of the deadlines of the rules that have passed. */
export function opinionsOn(ingredient: AlgorithmUse, day: string, engine: RiskEngine): Opinion[] {
  const { findings } = engine.judge({ kind: 'algorithm', ingredients: [ingredient] });
  const dated = findings.flatMap(({ deadlines, verified }) =>
    deadlines
      .filter(({ appliesTo }) => appliesTo === undefined)
      .map((deadline) => ({ ...deadline, verified: verified && deadline.verified !== false })),
  );
  return JURISDICTIONS.map((jurisdiction) => {
    const own = POSITIONS.filter((one) => one.jurisdiction === jurisdiction && fitsAlgorithmUse(one.match, ingredient));
    const opinions: Opinion[] = own.map(({ stance, until, reason, authority, verified }) => ({
      jurisdiction,
      stance: until !== undefined && until >= day ? 'ACCEPTS_UNTIL' : stance,
      reason,
      date: until ?? null,
      authority,
      binding: false,
      draft: false,
      verified,
    }));
    for (const { date, state, authority, binding, draft, verified, jurisdiction: whose } of dated) {
      if (whose !== jurisdiction) continue;
      const stance = date >= day ? 'ACCEPTS_UNTIL' : SOFT.has(state) ? 'DISCOURAGES' : 'REJECTS';
      opinions.push({ jurisdiction, stance, reason: state, date, authority, binding, draft, verified });
    }
    return opinions.reduce(worse, silent(jurisdiction));
  });
}

/** Silence gives way to any word; of two words the worse counts, of two dates to come the nearer. */
export function worse(a: Opinion, b: Opinion): Opinion {
  if (a.stance === 'SILENT') return b;
  const difference = STANCES.indexOf(b.stance) - STANCES.indexOf(a.stance);
  if (difference !== 0) return difference > 0 ? b : a;
  const nearer = a.stance === 'ACCEPTS_UNTIL' ? (b.date ?? '') < (a.date ?? '') : (b.date ?? '') > (a.date ?? '');
  return nearer ? b : a;
}

function silent(jurisdiction: string): Opinion {
  const nothing = { reason: null, date: null, authority: null, binding: false, draft: false, verified: true };
  return { jurisdiction, stance: 'SILENT', ...nothing };
}

export function isConflict(opinions: readonly Opinion[]): boolean {
  return opinions.some(({ stance }) => stance === 'FAVOURS') && opinions.some(({ stance }) => OBJECTING.has(stance));
}

export function objects({ stance }: Opinion): boolean {
  return OBJECTING.has(stance);
}

/** Replacements for algorithms of this purpose; those that the fewest authorities object to come first. */
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

/** Names what opinions are about: one algorithm in one use. */
export function algorithmKey(ingredient: AlgorithmUse): string {
  return `${labelOf(ingredient)} ${ingredient.purpose}`;
}
