/** Answers the JSON for a text. `name` is the name of its member, or of the member whose list it is in; `within` is the name of the object around. */
export type TextWriter = (text: string, name: string, within: string) => string;

/**
 * JSON in the one form of RFC 8785: members in the order of their names (UTF-16 code units), no white space; equal values have equal texts.
 *
 * @param write writes texts that do not stand for themselves.
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

/** The items of a list whose order means nothing, in the order of their canonical texts. */
export function inCanonicalOrder<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length < 2) return items;
  const texts = items.map((item) => ({ item, text: canonicalJson(item) }));
  return texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ item }) => item);
}

/** Most texts have nothing to escape, and to look for that is quicker than JSON.stringify. */
const ESCAPED = /[^ !#-[\]-~]/;

export function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Few that are nearly in order, as most are: Array.prototype.sort takes longer to begin. */
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

/** Names of members come again and again; as they begin a member, with the comma before all but the first. */
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
