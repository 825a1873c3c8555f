/** What turns text round, hides or ends it: controls, formats (UAX #9, zero width), private and unassigned code points, separators of lines. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** visibleText returns a text from outside with each character that has no glyph of its own as `⟨U+202E⟩`, so that people see what a hash covers. */
export function visibleText(text: string): string {
  return text.replaceAll(
    UNSEEN,
    (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}
