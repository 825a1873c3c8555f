import { createHash } from 'node:crypto';

/** Matches names of columns that contain secrets, or hashes or ciphertexts of secrets. */
const IS_SECRET = /hash|secret|password|sealed|salt|token/;
/** Maximum length of a value that is shown unchanged. */
const MAX_SHOWN_LENGTH = 300;

/** shownContent returns the columns of a sealed row, from its RowText, as JSON for a terminal. Secrets and long values are replaced with their SHA-256. */
export function shownContent(text: string): string {
  const [, columns] = JSON.parse(text) as [table: string, columns: Record<string, unknown>];
  const shown = Object.entries(columns).map(([name, value]) => {
    const json = JSON.stringify(value);
    if (!IS_SECRET.test(name) && json.length <= MAX_SHOWN_LENGTH) return [name, value];
    return [name, `sha256:${createHash('sha256').update(json).digest('hex')}`];
  });
  return JSON.stringify(Object.fromEntries(shown));
}
