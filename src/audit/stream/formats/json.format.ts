import { canonicalJson, quoted } from '../../../platform/json/canonical-json.js';
import { redacted } from '../../../platform/log/structured-logger.js';
import type { StreamedLeaf } from './streamed-leaf.js';

/** Everything that is not a printable character of ASCII. JSON itself leaves DEL, C1 controls and overrides of the direction of writing as they are. */
const NOT_PRINTABLE = /[^ -~]/g;

/**
 * JSON on one line, of printable ASCII alone: no receiver can take a part of it for the end of a line, or for another encoding. What looks
 * like a credential is masked, although entries hold none.
 */
export function asciiJson(value: unknown): string {
  const text = canonicalJson(value, (item) => quoted(redacted(item)));
  return text.replaceAll(NOT_PRINTABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A leaf as JSON: `{"log","number","kind", …}` with `entry`, with `entryId` and `record`, or with `entryId` alone when it is missing. The
 * canonical JSON (RFC 8785) of `entry` is what the log hashed, unless it says what it left out.
 */
export function jsonOf({ log, number, kind, entryId, entry, record }: StreamedLeaf): string {
  const content = record === undefined ? (entry === undefined ? { entryId } : { entry }) : { entryId, record };
  return asciiJson({ log, number, kind, ...content });
}
