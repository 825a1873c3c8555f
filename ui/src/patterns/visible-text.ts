/**
 * Characters that reorder, hide or break text: controls, format characters (UAX #9, zero width), private-use and unassigned code points, line separators, and
 * letters and marks without a glyph (Hangul fillers, variation selectors, the blank Braille pattern).
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** visibleText returns a text from outside with each character that has no glyph of its own as `⟨U+202E⟩`, so that people see what a hash covers. */
export function visibleText(text: string): string {
  return text.replaceAll(
    UNSEEN,
    (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}

/** visibleJson returns what a client says as JSON on indented lines: the names of its members are the client's words, not those of the console. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split('\n').map(visibleText).join('\n');
}
