import { isUtf8 } from 'node:buffer';
import { assertNoWideEncoding } from '../../platform/http/bodies/json-body.js';
import { Problem } from '../../platform/errors/problem.js';
import { jsonFault } from '../../platform/json/json-fault.js';
import { pointerStep } from '../../platform/json/json-pointer.js';

/** An object of JSON.parse. */
export type JsonMembers = Record<string, unknown>;

export function isMembers(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a text, else ''. */
export function memberTextOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Where a text may hold what PostgreSQL cannot store: only then the parsed value is looked through. Most texts have no such escapes. */
const ESCAPE = String.raw`\u`;
const UNSTORABLE = /\\u0000|\\ud[89a-f]/i;
const MAX_DEPTH = 200;

/** @throws Problem 400 for what is no UTF-8. */
export function bodyTextOf(bytes: Buffer): string {
  if (isUtf16(bytes))
    throw new Problem(
      'malformed',
      'request.malformed',
      'The body is UTF-16; JSON is sent as UTF-8 (RFC 8259 section 8.1).',
    );
  if (!isUtf8(bytes)) throw new Problem('malformed', 'request.malformed', 'The body is not valid UTF-8.');
  return bytes.toString('utf8');
}

/** A byte order mark of UTF-16, or a first character of JSON in it. */
export function isUtf16(bytes: Buffer): boolean {
  const [first, second, third, fourth] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const isBrace = (octet: number | undefined) => octet === 0x7b || octet === 0x5b;
  return (isBrace(first) && second === 0 && fourth === 0) || (first === 0 && isBrace(second) && third === 0);
}

/** The text of a whole body, which may begin with a byte order mark. */
export function bodyText(bytes: Buffer): string {
  assertNoWideEncoding(bytes);
  const text = bodyTextOf(bytes);
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Where a member of the value stands, by its name or index; '' is the value itself. */
export type PointerTo = (member: string) => string;
const FROM_THE_TOP: PointerTo = (member) => (member === '' ? '' : `/${member}`);

/** @throws Problem 400 for what is no JSON, 422 for what cannot be stored. */
export function parseJson(text: string, pointerTo: PointerTo = FROM_THE_TOP): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed(pointerTo(''), text);
  }
  if (text.includes(ESCAPE) && UNSTORABLE.test(text)) assertStorable(value, pointerTo);
  return value;
}

/** A longer text takes seconds to be read by the finder of faults. */
const MAX_SEARCHED = 16 * 1024 * 1024;

/**
 * What is wrong with a text that is no JSON, with its place as far as it is looked for. The message of the parser quotes the body, which may
 * hold a secret.
 */
export function malformed(pointer: string, text = ''): Problem {
  const found = text === '' || text.length > MAX_SEARCHED ? undefined : jsonFault(text);
  const detail =
    found === undefined ? 'is not valid JSON' : `line ${found.line}, column ${found.column}: ${found.detail}`;
  const message = found === undefined ? 'The body is not valid JSON.' : `The body is not valid JSON; ${detail}.`;
  return new Problem('malformed', 'request.malformed', message, { errors: [{ pointer, detail }] });
}

/** NUL characters and halves of surrogate pairs; walks without recursion. */
function assertStorable(root: unknown, pointerTo: PointerTo): void {
  const stack: { value: unknown; pointer: string; depth: number }[] = [{ value: root, pointer: '', depth: 0 }];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, pointer, depth } = place;
    if (typeof value === 'string') assertText(value, pointer);
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) throw unstorable(pointer, `is nested deeper than ${MAX_DEPTH} levels`);
    for (const [name, member] of Object.entries(value)) {
      assertText(name, pointer);
      const escaped = pointerStep(name);
      stack.push({
        value: member,
        pointer: depth === 0 ? pointerTo(escaped) : `${pointer}/${escaped}`,
        depth: depth + 1,
      });
    }
  }
}

function assertText(text: string, pointer: string): void {
  if (text.includes('\u0000')) throw unstorable(pointer, 'holds a NUL character');
  if (!text.isWellFormed()) throw unstorable(pointer, 'holds half of a surrogate pair');
}

function unstorable(pointer: string, detail: string): Problem {
  return new Problem('refused', 'document.invalid', `The document is refused: a text ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
