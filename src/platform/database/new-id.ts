import { v7 } from 'uuid';
export { isId, timeOfId } from '../../formats/encoding/uuid.js';

/** A UUIDv7 (RFC 9562 section 5.7): ordered by creation time, so that indexes stay dense. */
export function newId(): string {
  return v7();
}

/** Before all other ids (RFC 9562 section 5.9), for reading rows by their id from the first. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** The least id of a millisecond since 1970: every id that was made before is less. */
export function firstIdAt(ms: number): string {
  const hex = Math.trunc(ms).toString(16).padStart(12, '0');
  return hex.replace(/^(.{8})(.{4})$/, '$1-$2-7000-8000-000000000000');
}

/**
 * SQL: the UUID that a text is; NULL for another text, such as `system`. Ids of people are kept as text where others may stand in their place.
 * The text is converted and never the column of type uuid that it is compared with: an index on that column is of no use otherwise.
 *
 * @param text SQL expression of the type text
 */
export function uuidOf(text: string): string {
  return `(CASE WHEN ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN ${text}::uuid END)`;
}
