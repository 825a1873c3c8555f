import { isUtf8 } from 'node:buffer';
import { assertNoWideEncoding } from '../../platform/http/bodies/json-body.js';
import { Problem } from '../../platform/errors/problem.js';
import { jsonFault } from '../../platform/json/json-fault.js';
import { pointerStep } from '../../platform/json/json-pointer.js';

/** JsonMembers is an object returned by JSON.parse. */
export type JsonMembers = Record<string, unknown>;

export function isMembers(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** memberTextOf returns the value if it is a string, and '' otherwise. */
export function memberTextOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Only a text with this escape can contain characters that PostgreSQL cannot store, so only the parsed values of these texts are searched. */
const ESCAPE = String.raw`\u`;
const UNSTORABLE = /\\u0000|\\ud[89a-f]/i;
const MAX_DEPTH = 200;

/** @throws Problem 400 if the bytes are not UTF-8. */
export function bodyTextOf(bytes: Buffer): string {
  if (isUtf16(bytes))
    throw new Problem(
      'malformed',
      'request.malformed',
      'The body is UTF-16. Send JSON as UTF-8 (RFC 8259 section 8.1).',
    );
  if (!isUtf8(bytes)) throw new Problem('malformed', 'request.malformed', 'The body is not valid UTF-8.');
  return bytes.toString('utf8');
}

/** isUtf16 detects a UTF-16 byte order mark, or a first JSON character in UTF-16. */
export function isUtf16(bytes: Buffer): boolean {
  const [first, second, third, fourth] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const isBrace = (octet: number | undefined) => octet === 0x7b || octet === 0x5b;
  return (isBrace(first) && second === 0 && fourth === 0) || (first === 0 && isBrace(second) && third === 0);
}

/** bodyText returns the text of a whole body, which may begin with a byte order mark. */
export function bodyText(bytes: Buffer): string {
  assertNoWideEncoding(bytes);
  const text = bodyTextOf(bytes);
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** PointerTo returns the pointer to a member of the value by its name or index; '' denotes the value itself. */
export type PointerTo = (member: string) => string;
const FROM_THE_TOP: PointerTo = (member) => (member === '' ? '' : `/${member}`);

/** Matches numbers with 16 digits or an exponent, which may exceed 2^53−1. Numbers are checked only in texts that match. */
const WIDE_NUMBER = /[:[,]\s*-?(?:\d{16}|[\d.]+[eE])/;

/** parseJson parses a document. @throws Problem 400 if the text is not JSON, 422 for strings that cannot be stored */
export function parseJson(text: string, pointerTo: PointerTo = FROM_THE_TOP): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed(pointerTo(''), text);
  }
  if (text.includes(ESCAPE) && UNSTORABLE.test(text)) visit(value, pointerTo, assertText);
  return value;
}

/** parseExactJson is `parseJson` for documents whose numbers are stored. @throws Problem 422 also for numbers beyond ±(2^53−1) */
export function parseExactJson(text: string, pointerTo: PointerTo = FROM_THE_TOP): unknown {
  const value = parseJson(text, pointerTo);
  assertExactNumbers(value, text, pointerTo);
  return value;
}

/** @throws Problem 422 if the value, which was parsed from the text, contains a number beyond ±(2^53−1). */
export function assertExactNumbers(value: unknown, text: string, pointerTo: PointerTo = FROM_THE_TOP): void {
  if (WIDE_NUMBER.test(text)) visit(value, pointerTo, assertNumber);
}

/** MAX_SEARCHED is the maximum length of a text that is searched for a syntax error. Searching a longer text would take seconds. */
const MAX_SEARCHED = 16 * 1024 * 1024;

/**
 * malformed returns the problem for a text that is not JSON, with the position of the syntax error if the text is short enough to be searched. The parser's
 * message is not used, because it quotes the body, which may contain a secret.
 */
export function malformed(pointer: string, text = ''): Problem {
  const found = text === '' || text.length > MAX_SEARCHED ? undefined : jsonFault(text);
  const detail =
    found === undefined ? 'is not valid JSON' : `line ${found.line}, column ${found.column}: ${found.detail}`;
  const message = found === undefined ? 'The body is not valid JSON.' : `The body is not valid JSON: ${detail}.`;
  return new Problem('malformed', 'request.malformed', message, { errors: [{ pointer, detail }] });
}

/** Calls `assert` for every value, and for every member name with the pointer of its object. Uses a stack instead of recursion. */
function visit(root: unknown, pointerTo: PointerTo, assert: (value: unknown, pointer: string) => void): void {
  const stack: { value: unknown; pointer: string; depth: number }[] = [{ value: root, pointer: '', depth: 0 }];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, pointer, depth } = place;
    assert(value, pointer);
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) throw unstorable(pointer, `is nested deeper than ${MAX_DEPTH} levels`);
    for (const [name, member] of Object.entries(value)) {
      assert(name, pointer);
      const escaped = pointerStep(name);
      stack.push({
        value: member,
        pointer: depth === 0 ? pointerTo(escaped) : `${pointer}/${escaped}`,
        depth: depth + 1,
      });
    }
  }
}

/** Rejects NUL characters and unpaired surrogates. */
function assertText(text: unknown, pointer: string): void {
  if (typeof text !== 'string') return;
  if (text.includes('\u0000')) throw unstorable(pointer, 'contains a NUL character');
  if (!text.isWellFormed()) throw unstorable(pointer, 'contains an unpaired surrogate');
}

/** Rejects numbers that JSON readers do not preserve (RFC 7493 section 2.2). */
function assertNumber(value: unknown, pointer: string): void {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return;
  throw unstorable(pointer, 'exceeds ±9007199254740991 (2^53−1): send the number as a string', 'a number');
}

function unstorable(pointer: string, detail: string, what = 'a string'): Problem {
  return new Problem('refused', 'document.invalid', `The document was rejected: ${what} ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
