import { v7 } from 'uuid';
export { isId, timeOfId } from '../../formats/encoding/uuid.js';

/** newId returns a UUIDv7 (RFC 9562 section 5.7). UUIDv7s are ordered by creation time, which keeps indexes dense. */
export function newId(): string {
  return v7();
}

/** NIL_ID sorts before all other IDs (RFC 9562 section 5.9), and is the start value for reading rows by ID. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** firstIdAt returns the smallest ID of a millisecond since 1970. All IDs created earlier are smaller. */
export function firstIdAt(ms: number): string {
  const hex = Math.trunc(ms).toString(16).padStart(12, '0');
  return hex.replace(/^(.{8})(.{4})$/, '$1-$2-7000-8000-000000000000');
}

/**
 * uuidOf returns SQL that converts text to a UUID, or to NULL for other text, such as `system`. IDs of people are stored as text in columns that may also
 * hold other values. Convert the text rather than the uuid column in the comparison, so that an index on the column can be used.
 *
 * @param text SQL expression of type text
 */
export function uuidOf(text: string): string {
  return `(CASE WHEN ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN ${text}::uuid END)`;
}
