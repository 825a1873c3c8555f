/** Where a value stands in a text: from the byte `start` to the one before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type Outline = ReadonlyMap<string, Span>;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Where the members of the outermost object stand, found by brackets and quotes alone: a hundred megabytes cost a fraction of what
 * reading them does. Of a text that is no JSON it says nothing of use. Undefined for what is no object, for a name that comes twice
 * and for one that is spelled with escapes.
 */
export function outlineOf(text: Uint8Array): Outline | undefined {
  const members = new Map<string, Span>();
  let at = skipSpace(text, 0);
  if (text[at] !== OPEN_OBJECT) return undefined;
  for (at = skipSpace(text, at + 1); text[at] === QUOTE; at = skipSpace(text, at + 1)) {
    const name = nameIn(text, at, endOfString(text, at));
    at = skipSpace(text, endOfString(text, at));
    if (name === undefined || members.has(name) || text[at] !== COLON) return undefined;
    const start = skipSpace(text, at + 1);
    const end = endOfValue(text, start);
    members.set(name, { start, end });
    at = skipSpace(text, end);
    if (text[at] === CLOSE_OBJECT) return members;
    if (text[at] !== COMMA) return undefined;
  }
  return undefined;
}

/** Where a list stands that the outline of its text has found. */
export function isList(text: Uint8Array, { start }: Span): boolean {
  return text[start] === OPEN_LIST;
}

/** Where the items of a list stand; what is between them is seen to, they themselves are not. @throws SyntaxError */
export function* itemsOf(text: Uint8Array, list: Span): Generator<Span> {
  let start = skipSpace(text, list.start + 1);
  if (text[start] === CLOSE_LIST) return;
  for (;;) {
    const end = endOfValue(text, start);
    yield { start, end };
    if (text[end] === CLOSE_LIST) return;
    if (text[end] !== COMMA) throw new SyntaxError('a list does not end');
    start = skipSpace(text, end + 1);
  }
}

/** The text with an empty list in place of each of these members that is a list. */
export function withoutLists(text: Uint8Array, outline: Outline, names: readonly string[]): Buffer {
  const lists = names.flatMap((name) => outline.get(name) ?? []).filter((span) => isList(text, span));
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const { start, end } of lists.toSorted((a, b) => a.start - b.start)) {
    parts.push(text.subarray(from, start), EMPTY_LIST);
    from = end;
  }
  return Buffer.concat([...parts, text.subarray(from)]);
}

const EMPTY_LIST = Buffer.from('[]');

function skipSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at += 1;
  return at;
}

function nameIn(text: Uint8Array, start: number, end: number): string | undefined {
  const name = text.subarray(start + 1, end - 1);
  return name.includes(BACKSLASH) ? undefined : Buffer.from(name).toString();
}

/** Behind the closing quote. */
function endOfString(text: Uint8Array, quote: number): number {
  let at = quote + 1;
  for (; at < text.length && text[at] !== QUOTE; at += 1) if (text[at] === BACKSLASH) at += 1;
  return at + 1;
}

/** Behind a value: at the comma or bracket that ends it. */
function endOfValue(text: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfString(text, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (depth === 0) {
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST) return at;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
  }
  return text.length;
}
