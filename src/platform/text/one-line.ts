import { truncate } from './truncate.js';

/** Characters that end or hide a line: controls, line and paragraph separators, and overrides of the direction of writing (UAX #9). */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/**
 * Text from outside as one line of at most `max` UTF-16 code units: for mail headers, lines of a log, and lines of a message that must
 * not look like others. What would end the line becomes a space.
 */
export function oneLine(text: string, max: number): string {
  // What is cut off need not be looked at.
  return truncate(
    truncate(text, max * 2)
      .replaceAll(BREAKS, ' ')
      .trim(),
    max,
  );
}
