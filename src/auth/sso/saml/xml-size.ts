/**
 * Limits on the shape of a message. The time for parsing and canonicalization, which precede signature verification, grows with the number of elements
 * multiplied by the number of namespaces in scope, or with the square of the depth. A message from a provider that sends 1,000 groups has about 2,000 elements,
 * 10 levels and 25 attributes from the root to any element.
 */
export const MAX_ELEMENTS = 2500;
export const MAX_DEPTH = 24;
/** MAX_PATH_ATTRIBUTES is the maximum number of attributes, including namespace declarations, of an element and all its ancestors. */
export const MAX_PATH_ATTRIBUTES = 48;
/** MAX_ATTRIBUTES is the maximum number of attributes in a document. Each signature and certificate requires a pass over all attributes. */
export const MAX_ATTRIBUTES = 4000;
/** MAX_TAG_LENGTH is the maximum number of characters in a tag. The longest tags contain attribute names that are URIs. */
export const MAX_TAG_LENGTH = 4096;

/**
 * Reports whether a document without comments, CDATA, document types and processing instructions is well-nested and within the limits. Each character is read
 * once. A tag that is not well-formed is rejected, because a lenient parser could find different elements in it.
 */
export function isModestXml(xml: string): boolean {
  const path: Tag[] = [];
  let [elements, attributes, allAttributes] = [0, 0, 0];
  for (let at = xml.indexOf('<'); at !== -1; at = xml.indexOf('<', at)) {
    const tag = readTag(xml, at);
    if (tag === undefined) return false;
    at = tag.end;
    if (tag.name.startsWith('/')) {
      const opened = path.pop();
      if (opened === undefined || tag.name !== `/${opened.name}`) return false;
      attributes -= opened.attributes;
      continue;
    }
    elements += 1;
    allAttributes += tag.attributes;
    const isLarge = elements > MAX_ELEMENTS || allAttributes > MAX_ATTRIBUTES;
    if (isLarge || path.length >= MAX_DEPTH || attributes + tag.attributes > MAX_PATH_ATTRIBUTES) return false;
    if (tag.isEmpty) continue;
    path.push(tag);
    attributes += tag.attributes;
  }
  return path.length === 0;
}

interface Tag {
  /** Includes the slash of an end tag. */
  readonly name: string;
  readonly attributes: number;
  readonly isEmpty: boolean;
  /** Index after the tag. */
  readonly end: number;
}

const NAME = /\/?[\w.:-]{1,200}/y;
const BEFORE_ATTRIBUTE = /\s*/y;
const ATTRIBUTE = /[\w.:-]{1,200}\s*=\s*(?:"[^"<]*"|'[^'<]*')/y;
const END = /\/?>/y;

/** Reads the tag that begins at `start`; returns undefined if the tag is too long or not well-formed. */
function readTag(xml: string, start: number): Tag | undefined {
  const name = matchAt(NAME, xml, start + 1);
  if (name === undefined) return undefined;
  let at = start + 1 + name.length;
  for (let attributes = 0; at - start <= MAX_TAG_LENGTH; attributes += 1) {
    at += matchAt(BEFORE_ATTRIBUTE, xml, at)?.length ?? 0;
    const end = matchAt(END, xml, at);
    if (end !== undefined) {
      const isEmpty = end.length > 1;
      const isPlain = !name.startsWith('/') || (!isEmpty && attributes === 0);
      return isPlain ? { name, attributes, isEmpty, end: at + end.length } : undefined;
    }
    const attribute = matchAt(ATTRIBUTE, xml, at);
    if (attribute === undefined) return undefined;
    at += attribute.length;
  }
  return undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
