/** Code units that are looked at around a cut; a longer grapheme cluster is cut between its code points. */
const WINDOW = 64;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const ELLIPSIS = '…';

/**
 * At most `max` UTF-16 code units of a text, cut between characters as people see them (grapheme clusters, UAX #29) and never within a
 * code point. Always well-formed: halves of surrogate pairs that the text came with are replaced by U+FFFD.
 */
export function truncate(text: string, max: number): string {
  return (text.length <= max ? text : text.slice(0, boundary(text, max))).toWellFormed();
}

/** Cuts as `truncate` does, with an ellipsis for what was cut off, which counts. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text.toWellFormed() : `${truncate(text, max - ELLIPSIS.length)}${ELLIPSIS}`;
}

/** At most `max` bytes of UTF-8, cut as `truncate` does. */
export function truncateBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text.toWellFormed();
  const bytes = Buffer.from(text.slice(0, max));
  let end = Math.min(max, bytes.length);
  // The continuation bytes of RFC 3629 section 3: what they belong to is left out whole.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const whole = bytes.toString('utf8', 0, end);
  return truncate(text, whole.length);
}

/** The last place up to `max` where the text may be cut. */
function boundary(text: string, max: number): number {
  const from = wholeBefore(text, Math.max(0, max - WINDOW));
  const cluster = graphemes.segment(text.slice(from, max + WINDOW)).containing(max - from);
  const at = from + (cluster?.index ?? 0);
  return at > from || from === 0 ? at : wholeBefore(text, max);
}

/** One less where that is between the halves of a surrogate pair. */
function wholeBefore(text: string, at: number): number {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000 ? at - 1 : at;
}

/** Characters that end or hide a line: controls, line and paragraph separators, and overrides of the direction of writing (UAX #9). */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/** A text of any length with a space for each run of what would end or hide its line. Always well-formed. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, ' ').toWellFormed();
}

/** Characters that move the cursor, change colours or reverse the text direction in a terminal. Tab and line feed are excluded. */
const TERMINAL_CONTROLS = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** forTerminal replaces each character that would control a terminal with an escape such as \u001b. JSON text keeps its meaning. */
export function forTerminal(text: string): string {
  return text.replaceAll(TERMINAL_CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * nameInTitle returns a caller-chosen name for the title of an approval, on one line of at most `max` UTF-16 code units. Invisible characters and
 * whitespace are collapsed into single spaces, so that nothing is pushed out of sight. URLs are broken by a space, so that mail programs do not turn
 * them into links.
 */
export function nameInTitle(name: string, max: number): string {
  const plain = name
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll('://', ': //')
    .replaceAll(/\bwww\./gi, 'www .')
    .trim();
  return shorten(plain, max);
}

/**
 * Text from outside as one line of at most `max` UTF-16 code units: for mail headers, lines of a log, and lines of a message that must
 * not look like others. What would end the line becomes a space.
 */
export function oneLine(text: string, max: number): string {
  // What is cut off need not be looked at.
  return truncate(withoutControls(truncate(text, max * 2)).trim(), max);
}
