/** JSON in the one form of RFC 8785: members in the order of their names (UTF-16 code units), no white space; equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    let list = '';
    for (const item of value) list += `${list === '' ? '' : ','}${canonicalJson(item)}`;
    return `[${list}]`;
  }
  const members = value as Record<string, unknown>;
  let text = '';
  for (const name of inOrder(Object.keys(members))) {
    const member = members[name];
    if (member !== undefined) text += `${text === '' ? '' : ','}${quoted(name)}${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Most objects have their members in order already, or few of them. */
function inOrder(names: string[]): string[] {
  for (let index = 1; index < names.length; index += 1)
    if ((names[index - 1] ?? '') > (names[index] ?? '')) return names.sort();
  return names;
}

/** Names of members come again and again. */
const MOST_NAMES = 4096;
const QUOTED = new Map<string, string>();

function quoted(name: string): string {
  const known = QUOTED.get(name);
  if (known !== undefined) return known;
  const made = `${JSON.stringify(name)}:`;
  if (QUOTED.size < MOST_NAMES && name.length < 100) QUOTED.set(name, made);
  return made;
}
