/** Number of code units examined around a cut. Longer grapheme clusters are split between code points. */
const WINDOW = 64;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const ELLIPSIS = '…';

/**
 * truncate returns at most `max` UTF-16 code units of a string. The cut is between grapheme clusters (UAX #29) and never within a code point. The result is
 * well-formed: lone surrogates are replaced with U+FFFD.
 */
export function truncate(text: string, max: number): string {
  return (text.length <= max ? text : text.slice(0, boundary(text, max))).toWellFormed();
}

/** shorten is like `truncate`, but ends truncated text with an ellipsis, which counts towards `max`. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text.toWellFormed() : `${truncate(text, max - ELLIPSIS.length)}${ELLIPSIS}`;
}

/** truncateBytes returns at most `max` bytes of UTF-8, cut like `truncate`. */
export function truncateBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text.toWellFormed();
  const bytes = Buffer.from(text.slice(0, max));
  let end = Math.min(max, bytes.length);
  // Skips continuation bytes (RFC 3629 section 3), so that the last character is removed completely.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const whole = bytes.toString('utf8', 0, end);
  return truncate(text, whole.length);
}

/** Returns the last position up to `max` at which the text may be cut. */
function boundary(text: string, max: number): number {
  const from = wholeBefore(text, Math.max(0, max - WINDOW));
  const cluster = graphemes.segment(text.slice(from, max + WINDOW)).containing(max - from);
  const at = from + (cluster?.index ?? 0);
  return at > from || from === 0 ? at : wholeBefore(text, max);
}

/** Moves a position between the halves of a surrogate pair back by one. */
function wholeBefore(text: string, at: number): number {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000 ? at - 1 : at;
}

/** Characters that end or hide a line: controls, line and paragraph separators, and bidirectional overrides (UAX #9). */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/** withoutControls replaces each run of characters that end or hide a line with a space. The result is well-formed. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, ' ').toWellFormed();
}

/** Characters that move the cursor, change colors or reverse the text direction in a terminal. Tab and line feed are excluded. */
const TERMINAL_CONTROLS = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** forTerminal replaces each character that would control a terminal with an escape such as \u001b. The meaning of JSON text does not change. */
export function forTerminal(text: string): string {
  return text.replaceAll(TERMINAL_CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * nameInTitle returns a caller-chosen name for the title of an approval, on one line of at most `max` UTF-16 code units. Whitespace and characters without a
 * glyph (controls, Hangul fillers, the blank Braille pattern) are collapsed into single spaces, so that no part of the text can be moved out of view. A space
 * is inserted into URLs, so that email programs do not turn URLs into links.
 */
export function nameInTitle(name: string, max: number): string {
  const plain = name
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800\s]+/gu, ' ')
    .replaceAll('://', ': //')
    .replaceAll(/\bwww\./gi, 'www .')
    .trim();
  return shorten(plain, max);
}

/**
 * oneLine returns text from outside as one line of at most `max` UTF-16 code units, for email headers, log lines, and message lines that must not imitate other
 * lines. Characters that would end the line are replaced with spaces.
 */
export function oneLine(text: string, max: number): string {
  // Truncates early, so that removed text is not processed.
  return truncate(withoutControls(truncate(text, max * 2)).trim(), max);
}
