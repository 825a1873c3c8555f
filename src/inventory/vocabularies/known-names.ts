import namesFile from './names.json' with { type: 'json' };

/** What a name of a vocabulary stands for. */
interface KnownName {
  /** The same in words that the grammar of names reads; null for what is no algorithm. */
  readonly means: string | null;
  readonly source: string;
}

interface Vocabulary {
  readonly source: string;
  /** Its names are told from others by their letter case or hyphens. */
  readonly isExact?: boolean;
  /** A key of such an algorithm signs with its hash and with no other, as a DNSKEY record says. */
  readonly bindsKeys?: boolean;
  readonly names: Readonly<Record<string, string>>;
}

const NAMES = new Map<string, KnownName>();
const SPELLED = new Map<string, KnownName>();
const EXACT = new Map<string, KnownName>();
const BINDING = new Set<string>();
for (const {
  source,
  isExact,
  bindsKeys,
  names,
} of namesFile.vocabularies as readonly object[] as readonly Vocabulary[])
  for (const [name, means] of Object.entries(names)) {
    const known = { means: means === '-' ? null : means, source };
    if (bindsKeys === true) BINDING.add(keyOf(name));
    if (isExact === true) EXACT.set(name, known);
    else {
      NAMES.set(keyOf(name), known);
      SPELLED.set(spellingOf(name), known);
    }
  }

/** A name that does not say by itself what it is; undefined for one that is in no vocabulary. Hyphens, blanks and case do not matter. */
export function findKnownName(name: string): KnownName | undefined {
  return EXACT.get(name) ?? NAMES.get(keyOf(name));
}

/** Whether a key of this algorithm signs with the hash of its name alone: a DNSSEC key of RSASHA1 makes SHA-1 signatures. */
export function bindsKeys(name: string): boolean {
  return BINDING.has(keyOf(name.trim()));
}

/** The same, where hyphens matter: `EC-P-256` is not the `ECP256` of a VPN gateway. */
export function findSpelledName(name: string): KnownName | undefined {
  return EXACT.get(name) ?? SPELLED.get(spellingOf(name));
}

function spellingOf(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_]+/g, ' ');
}

function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '');
}
