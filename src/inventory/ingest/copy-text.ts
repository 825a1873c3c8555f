/** COPY text format (PostgreSQL manual, COPY): one line per row, tab-separated, \N for NULL. */
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

type Field = string | number | boolean | object | null | undefined;

/** One row as a line. Objects become JSON. */
export function copyLine(fields: readonly Field[]): string {
  return `${fields.map(fieldText).join('\t')}\n`;
}

function fieldText(field: Field): string {
  if (field === null || field === undefined) return '\\N';
  if (typeof field === 'number') return String(field);
  const text = typeof field === 'object' ? JSON.stringify(field) : String(field);
  return /[\\\t\n\r]/.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '') : text;
}
