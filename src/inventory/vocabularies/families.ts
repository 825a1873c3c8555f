import familiesFile from './families.json' with { type: 'json' };

/** What an algorithm of a family does; `key` has a public key that signs, encrypts or agrees. */
export type FamilyRole = 'key' | 'sign' | 'exchange' | 'cipher' | 'hash' | 'mac' | 'kdf' | 'random' | 'other';

/**
 * What a quantum computer does to a public-key family: Shor's algorithm breaks `classical` ones; `broken` ones were meant to withstand it and
 * were broken without. Symmetric families have none.
 */
export type FamilyNature = 'classical' | 'post-quantum' | 'broken';

/** The numbers that can be a size of the family: of a modulus, a curve, a digest or a key, or of a parameter set. */
export type FamilySizes =
  'modulus' | 'curve' | 'digest' | 'aes' | 'cipher' | 'light' | 'mlkem' | 'mldsa' | 'level' | 'falcon';

interface Family {
  readonly role: FamilyRole;
  readonly nature?: FamilyNature;
  readonly sizes?: FamilySizes;
  /** Fewest rounds that its standard has: a name with less is a variant for analysis. */
  readonly rounds?: number;
  /** Words that stand for it in names, separated by blanks; see `word-book.ts`. */
  readonly words: string;
}

const FAMILIES = new Map(Object.entries(familiesFile.families as Readonly<Record<string, Family>>));

/** Families of algorithms by name, each once. */
export function knownFamilies(): ReadonlyMap<string, Family> {
  return FAMILIES;
}

export function findFamily(name: string): Family | undefined {
  return FAMILIES.get(name);
}

/** Families that Shor's algorithm breaks, at whatever size. */
export const SHOR_BREAKABLE: ReadonlySet<string> = new Set(
  [...FAMILIES].filter(([, { nature }]) => nature === 'classical').map(([name]) => name),
);
