/** What JSON.parse gives, told apart. */
export type JsonMembers = Record<string, unknown>;

export function isMembers(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text, or '' for anything that is none. */
export function memberTextOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
