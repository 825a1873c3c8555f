/**
 * TextWriter returns the JSON for a string. `name` is the name of the string's member, or of the member whose list contains the string. `within` is the
 * member name of the enclosing object.
 */
export type TextWriter = (text: string, name: string, within: string) => string;

/**
 * canonicalJson returns JSON in the canonical form of RFC 8785: members sorted by name (UTF-16 code units), no white space. Equal values have equal text.
 *
 * @param write returns the JSON of strings that are not written literally
 */
export function canonicalJson(value: unknown, write: TextWriter = quoted, name = '', within = ''): string {
  if (typeof value === 'string') return write(value, name, within);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    let list = '[';
    for (const item of value) list += (list.length === 1 ? '' : ',') + canonicalJson(item, write, name, within);
    return `${list}]`;
  }
  const members = value as Record<string, unknown>;
  let text = '{';
  for (const its of inOrder(Object.keys(members))) {
    const member = members[its];
    if (member !== undefined) text += nameOf(its, text.length === 1) + canonicalJson(member, write, its, name);
  }
  return `${text}}`;
}

/** inCanonicalOrder sorts the items of an unordered list by their canonical text. */
export function inCanonicalOrder<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length < 2) return items;
  const texts = items.map((item) => ({ item, text: canonicalJson(item) }));
  return texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ item }) => item);
}

/** Matches characters that may need escaping. Most strings contain none, and this test is faster than JSON.stringify. */
const ESCAPED = /[^ !#-[\]-~]/;

export function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Maximum number of names for insertion sort, which is faster than Array.prototype.sort for few names that are usually almost sorted. */
const FEW = 16;

function inOrder(names: string[]): string[] {
  if (names.length > FEW) return names.sort();
  for (let index = 1; index < names.length; index += 1) {
    const name = names[index] ?? '';
    let at = index;
    for (; at > 0 && (names[at - 1] ?? '') > name; at -= 1) names[at] = names[at - 1] ?? '';
    names[at] = name;
  }
  return names;
}

/** Maximum number of cached member prefixes, such as `,"name":`. The same names occur repeatedly. Only the first member of an object has no comma. */
const MAX_NAMES = 4096;
const FIRST = new Map<string, string>();
const NEXT = new Map<string, string>();

function nameOf(name: string, isFirst: boolean): string {
  const names = isFirst ? FIRST : NEXT;
  const known = names.get(name);
  if (known !== undefined) return known;
  const made = `${isFirst ? '' : ','}${JSON.stringify(name)}:`;
  if (names.size < MAX_NAMES && name.length < 100) names.set(name, made);
  return made;
}
