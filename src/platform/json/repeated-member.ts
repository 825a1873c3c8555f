const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The name of a member that an object has twice, in a text that is JSON. Readers differ in which of the two counts (RFC 8259 section 4),
 * so one may check what another does not do.
 */
export function repeatedMember(text: string): string | undefined {
  /** Names of the objects around, undefined for lists. */
  const around: (Set<string> | undefined)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      const end = endOfString(text, at);
      const names = isName ? around.at(-1) : undefined;
      if (names !== undefined) {
        const name = JSON.parse(text.slice(at, end)) as string;
        if (names.has(name)) return name;
        names.add(name);
      }
      isName = false;
      at = end - 1;
    } else if (character === OPEN_OBJECT || character === OPEN_LIST) {
      isName = character === OPEN_OBJECT;
      around.push(isName ? new Set() : undefined);
    } else if (character === CLOSE_OBJECT || character === CLOSE_LIST) around.pop();
    else if (character === COMMA) isName = around.at(-1) !== undefined;
  }
  return undefined;
}

/** Behind the closing quote. */
function endOfString(text: string, quote: number): number {
  let at = quote + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}
