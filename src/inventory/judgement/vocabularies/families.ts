import familiesFile from './family-words.json' with { type: 'json' };

/** FamilyRole is the role of the algorithms in a family. `key` denotes a public key that can sign, encrypt or agree on keys. */
export type FamilyRole = 'key' | 'sign' | 'exchange' | 'cipher' | 'hash' | 'mac' | 'kdf' | 'random' | 'other';

/**
 * FamilyNature is the resistance of a public-key family to quantum computers. Shor's algorithm breaks `classical` families. `broken` families were designed
 * to resist quantum computers, but were broken by classical means. Symmetric families have no nature.
 */
export type FamilyNature = 'classical' | 'post-quantum' | 'broken';

/** FamilySizes determines which numbers can be a size in the family: the size of a modulus, curve, digest or key, or the number of a parameter set. */
export type FamilySizes =
  'modulus' | 'curve' | 'digest' | 'aes' | 'cipher' | 'light' | 'mlkem' | 'mldsa' | 'level' | 'falcon';

interface Family {
  readonly role: FamilyRole;
  readonly nature?: FamilyNature;
  readonly sizes?: FamilySizes;
  /** Number of rounds in the standard. A name with fewer rounds refers to a reduced variant, as used in cryptanalysis. */
  readonly rounds?: number;
  /** Words for the family in names, separated by spaces (see `name-words.ts`). */
  readonly words: string;
}

const FAMILIES = new Map(Object.entries(familiesFile.families as Readonly<Record<string, Family>>));

/** knownFamilies returns the algorithm families by name. */
export function knownFamilies(): ReadonlyMap<string, Family> {
  return FAMILIES;
}

export function findFamily(name: string): Family | undefined {
  return FAMILIES.get(name);
}

/** SHOR_BREAKABLE lists the families that Shor's algorithm breaks at any size. */
export const SHOR_BREAKABLE: ReadonlySet<string> = new Set(
  [...FAMILIES].filter(([, { nature }]) => nature === 'classical').map(([name]) => name),
);
