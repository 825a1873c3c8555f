import namesFile from './names.json' with { type: 'json' };

/** What a name of a vocabulary stands for. */
interface KnownName {
  /** The same in words that the grammar of names reads; null for what is no algorithm. */
  readonly means: string | null;
  readonly source: string;
}

const NAMES = new Map<string, KnownName>();
for (const { source, names } of namesFile.vocabularies)
  for (const [name, means] of Object.entries(names as object as Readonly<Record<string, string>>))
    NAMES.set(keyOf(name), { means: means === '-' ? null : means, source });

/** A name that does not say by itself what it is; undefined for one that is in no vocabulary. Hyphens, blanks and case do not matter. */
export function findKnownName(name: string): KnownName | undefined {
  return NAMES.get(keyOf(name));
}

function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '');
}
