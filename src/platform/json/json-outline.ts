/** Place of a value in a text: from the byte `start` to the one before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of the outermost object. */
export interface MemberSpan extends Span {
  /** For a list: commas between its items, each some `STRETCH` bytes after the one before. */
  readonly cuts: readonly number[];
  /** For a list: members of objects in each of its stretches, at any depth; a name that occurs twice counts twice. */
  readonly members: readonly number[];
}

/** Consecutive items of a list, without brackets. */
export interface StretchSpan extends Span {
  /** Members of objects in it, at any depth; a name that occurs twice counts twice. */
  readonly members: number;
}

/** Counts the members of objects. */
interface MemberCount {
  count: number;
}

export type Outline = ReadonlyMap<string, MemberSpan>;

/** Bytes of a long list that are read at a time: what is made of them is used and gone while it is near the processor. */
const STRETCH = 32 * 1024;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Finds the places of the members of the outermost object by brackets and quotes alone: a hundred megabytes cost a fraction of what
 * reading them does. Of a text that is no JSON it says nothing of use. Undefined for what is no object, for a name that comes twice,
 * for one that is spelled with escapes, and for a list that no bracket ends.
 */
export function outlineOf(text: Uint8Array): Outline | undefined {
  const members = new Map<string, MemberSpan>();
  let at = skipSpace(text, 0);
  if (text[at] !== OPEN_OBJECT) return undefined;
  for (at = skipSpace(text, at + 1); text[at] === QUOTE; at = skipSpace(text, at + 1)) {
    const name = nameIn(text, at, endOfString(text, at));
    at = skipSpace(text, endOfString(text, at));
    if (name === undefined || members.has(name) || text[at] !== COLON) return undefined;
    const start = skipSpace(text, at + 1);
    const cuts: number[] = [];
    const counts: number[] = [];
    const isAList = text[start] === OPEN_LIST;
    const end = isAList ? endOfList(text, start, cuts, counts) : endOfValue(text, start);
    if (isAList && text[lastOf(text, end)] !== CLOSE_LIST) return undefined;
    members.set(name, { start, end, cuts, members: counts });
    at = skipSpace(text, end);
    if (text[at] === CLOSE_OBJECT) return members;
    if (text[at] !== COMMA) return undefined;
  }
  return undefined;
}

/** Place of a list that the outline of its text has found. */
export function isList(text: Uint8Array, { start }: Span): boolean {
  return text[start] === OPEN_LIST;
}

/** Answers the places of the items of a list. Checks what is between the items, not the items. @throws SyntaxError */
export function* itemsOf(text: Uint8Array, list: Span): Generator<Span> {
  let start = skipSpace(text, list.start + 1);
  if (text[start] === CLOSE_LIST) return;
  for (;;) {
    const end = endOfValue(text, start);
    yield { start, end };
    if (text[end] === CLOSE_LIST) return;
    if (text[end] !== COMMA) throw new SyntaxError('a list is not closed');
    start = skipSpace(text, end + 1);
  }
}

/**
 * The items of a list, some at a time: spans that are lists but for the brackets around them. What is in them is for the reader to judge:
 * one without any item, in a list that was cut, stands behind a comma too many.
 */
export function* stretchesOf(text: Uint8Array, { start, end, cuts, members }: MemberSpan): Generator<StretchSpan> {
  let from = start + 1;
  for (const [index, cut] of cuts.entries()) {
    yield { start: from, end: cut, members: members[index] ?? 0 };
    from = cut + 1;
  }
  yield { start: from, end: lastOf(text, end), members: members[cuts.length] ?? 0 };
}

/** Answers the place of the last character of a value that ends before this byte. */
function lastOf(text: Uint8Array, end: number): number {
  let at = end - 1;
  while (isSpace(text[at])) at -= 1;
  return at;
}

/** The text with an empty list in place of each of these members that is a list. */
export function withoutLists(text: Uint8Array, outline: ReadonlyMap<string, Span>, names: readonly string[]): Buffer {
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
  while (isSpace(text[at])) at += 1;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function nameIn(text: Uint8Array, start: number, end: number): string | undefined {
  const name = text.subarray(start + 1, end - 1);
  return name.includes(BACKSLASH) ? undefined : Buffer.from(name).toString();
}

/** Answers the place after the closing quote. */
function endOfString(text: Uint8Array, quote: number): number {
  let at = quote + 1;
  for (; at < text.length && text[at] !== QUOTE; at += 1) if (text[at] === BACKSLASH) at += 1;
  return at + 1;
}

/** Returns the place after a list, as `endOfValue` does; adds where it may be cut to `cuts`, and the members between to `counts`. */
function endOfList(text: Uint8Array, start: number, cuts: number[], counts: number[]): number {
  let next = start + STRETCH;
  const members: MemberCount = { count: 0 };
  let at = endOfValue(text, start + 1, members);
  while (text[at] === COMMA) {
    if (at >= next) {
      cuts.push(at);
      counts.push(members.count);
      members.count = 0;
      next = at + STRETCH;
    }
    at = endOfValue(text, at + 1, members);
  }
  counts.push(members.count);
  return endOfValue(text, at + 1);
}

/** Returns the place after a value: of the comma or bracket that ends it. Counts the colons of the value, one for each member. */
function endOfValue(text: Uint8Array, start: number, members?: MemberCount): number {
  let depth = 0;
  let colons = 0;
  for (let at = start; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfString(text, at) - 1;
    else if (byte === COLON) colons += 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (depth === 0) {
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (members !== undefined) members.count += colons;
        return at;
      }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
  }
  return text.length;
}
