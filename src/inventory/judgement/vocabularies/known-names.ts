import namesFile from './opaque-names.json' with { type: 'json' };

/** Meaning of a name in a vocabulary. */
interface KnownName {
  /** Meaning, in words that `readName` interprets; null if the name is not an algorithm. */
  readonly means: string | null;
  readonly source: string;
}

interface Vocabulary {
  readonly source: string;
  /** Whether the names are case-sensitive and hyphens are significant. */
  readonly isExact?: boolean;
  /** Whether a key of the algorithm signs only with the hash in the name, as specified in a DNSKEY record. */
  readonly bindsKeys?: boolean;
  readonly names: Readonly<Record<string, string>>;
}

const NAMES = new Map<string, KnownName>();
const SPELLED = new Map<string, KnownName>();
const EXACT = new Map<string, KnownName>();
const BINDING = new Set<string>();
for (const vocabulary of namesFile.vocabularies as readonly object[] as readonly Vocabulary[]) {
  const { source, isExact, names } = vocabulary;
  for (const [name, means] of Object.entries(names)) {
    const known = { means: means === '-' ? null : means, source };
    if (vocabulary.bindsKeys === true) BINDING.add(keyOf(name));
    if (isExact === true) EXACT.set(name, known);
    else {
      NAMES.set(keyOf(name), known);
      SPELLED.set(spellingOf(name), known);
    }
  }
}

/**
 * findKnownName returns the meaning of a name whose meaning cannot be derived from its words. Hyphens, spaces and case are ignored. Returns undefined if the
 * name is not in any vocabulary.
 */
export function findKnownName(name: string): KnownName | undefined {
  return EXACT.get(name) ?? NAMES.get(keyOf(name));
}

/**
 * bindsKeys reports whether a key of this algorithm signs only with the hash in the algorithm's name. For example, a DNSSEC key with the algorithm RSASHA1
 * signs only with SHA-1.
 */
export function bindsKeys(name: string): boolean {
  return BINDING.has(keyOf(name.trim()));
}

/** findSpelledName is like `findKnownName`, but hyphens are significant: `EC-P-256` differs from `ECP256`, which VPN gateways use. */
export function findSpelledName(name: string): KnownName | undefined {
  return EXACT.get(name) ?? SPELLED.get(spellingOf(name));
}

function spellingOf(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_]+/g, ' ');
}

function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '');
}
