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

/** withVisibleText returns a value from outside with `visibleText` applied to all its texts and the names of its members. */
export function withVisibleText<Value>(value: Value): Value {
  const shown = (one: unknown): unknown => {
    if (typeof one === 'string') return visibleText(one);
    if (Array.isArray(one)) return one.map(shown);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [visibleText(name), shown(member)]));
  };
  return shown(value) as Value;
}

/** visibleJson returns what others say as JSON on indented lines: the names of its members are their words, not those of the console. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(withVisibleText(value), null, 2);
}
