/**
 * Characters that reorder, hide or break text: controls, format characters (UAX #9, zero width), private-use and unassigned code points, line separators, and
 * letters and marks without a glyph (Hangul fillers, variation selectors, the blank Braille pattern).
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** visibleText replaces each character without a glyph by its code point, such as `⟨U+202E⟩`, so that people see everything that a hash covers. */
export function visibleText(text: string): string {
  return text.replaceAll(
    UNSEEN,
    (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}

/** withVisibleText applies `visibleText` to all texts and member names in an untrusted value. */
export function withVisibleText<Value>(value: Value): Value {
  const shown = (one: unknown): unknown => {
    if (typeof one === 'string') return visibleText(one);
    if (Array.isArray(one)) return one.map(shown);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [visibleText(name), shown(member)]));
  };
  return shown(value) as Value;
}

/** visibleJson formats an untrusted value as indented JSON, so that its member names cannot be mistaken for labels of the console. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(withVisibleText(value), null, 2);
}
