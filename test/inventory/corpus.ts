import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Public documents stored next to the repository. Tests that need these documents are skipped if the directory is missing. */
const DATA = join(import.meta.dirname, '../../../shared/data');

export const hasCorpus = existsSync(DATA);

/** Returns the paths of the JSON files in a folder of the corpus. */
export function corpusFiles(folder: string, ending = '.json'): string[] {
  const path = join(DATA, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

export function corpusFile(path: string): Buffer {
  return readFileSync(join(DATA, path));
}
