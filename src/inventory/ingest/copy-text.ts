/** COPY text format (PostgreSQL manual, COPY): tab-separated fields, \\N for NULL. */
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const SPECIAL = /[\\\t\n\r]/;
const EACH_SPECIAL = /[\\\t\n\r]/g;

/** A text as a field. */
export function copyText(text: string | null): string {
  if (text === null) return '\\N';
  return SPECIAL.test(text) ? text.replaceAll(EACH_SPECIAL, (character) => ESCAPES[character] ?? '') : text;
}
