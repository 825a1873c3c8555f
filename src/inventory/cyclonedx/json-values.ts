/** What JSON.parse gives, told apart. */
export type Members = Record<string, unknown>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text, or '' for anything that is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
