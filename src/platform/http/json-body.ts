import { jsonFault } from '../json/json-fault.js';
import { repeatedMember } from '../json/repeated-member.js';
import { assertNoWideEncoding, withoutMark } from './json-bytes.js';
import { Problem } from '../errors/problem.js';
import { truncate } from '../text/truncate.js';

const MAX_DEPTH = 32;
const MAX_VALUES = 2000;
/** Never legal member names: they reach the prototype of whatever object they are copied into. */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses a JSON body and refuses what no service should have to think of: deep nesting, floods of members,
 * prototype names, NUL characters and lone surrogates (PostgreSQL stores neither), numbers that are none any
 * more, and members that come twice. A body without a byte is none: many clients name its type with every call. A byte order mark of UTF-8
 * is skipped; other encodings are named.
 */
export function parseJsonBody(body: Buffer, mostValues = MAX_VALUES): unknown {
  if (body.length === 0) return undefined;
  assertNoWideEncoding(body);
  const text = withoutMark(body).toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw notJson(text, cause);
  }
  if (text.includes('\uFFFD') && !isUtf8(withoutMark(body)))
    throw new Problem('malformed', 'request.malformed', 'The body is not valid UTF-8.');
  inspect(value, mostValues);
  const twice = repeatedMember(text);
  if (twice !== undefined) throw refusal('', `it has the member "${truncate(twice, 64)}" twice`);
  return value;
}

function notJson(text: string, cause: unknown): Problem {
  const fault = jsonFault(text);
  if (fault === undefined)
    return new Problem('malformed', 'request.malformed', 'The body is not valid JSON.', { cause });
  const { line, column } = fault;
  const detail = `line ${line}, column ${column}: ${fault.detail}`;
  const errors = [{ pointer: '', detail, column }];
  return new Problem('malformed', 'request.malformed', `The body is not valid JSON; ${detail}.`, { cause, errors });
}

function isUtf8(body: Buffer): boolean {
  return Buffer.from(body.toString('utf8'), 'utf8').equals(body);
}

interface Place {
  readonly value: unknown;
  readonly pointer: string;
  readonly depth: number;
}

/** Walks without recursion, so that the walk itself cannot be made to overflow. */
function inspect(root: unknown, mostValues: number): void {
  const stack: Place[] = [{ value: root, pointer: '', depth: 0 }];
  let seen = 0;
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    if (++seen > mostValues) throw refusal('', `more than ${mostValues} values`);
    const { value, pointer, depth } = place;
    if (typeof value === 'string') assertStorable(value, pointer);
    // 1e400: it would be stored as null.
    if (typeof value === 'number' && !Number.isFinite(value)) throw refusal(pointer, 'is a number beyond all measure');
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) throw refusal('', `nested deeper than ${MAX_DEPTH} levels`);
    for (const [name, member] of Object.entries(value)) {
      const at = `${pointer}/${truncate(name, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (!Array.isArray(value)) assertName(name, at);
      stack.push({ value: member, pointer: at, depth: depth + 1 });
    }
  }
}

function assertName(name: string, pointer: string): void {
  if (FORBIDDEN_NAMES.has(name)) throw refusal(pointer, 'this member name is not allowed');
  assertStorable(name, pointer);
}

function assertStorable(text: string, pointer: string): void {
  if (text.includes('\u0000')) throw refusal(pointer.replaceAll('\u0000', ''), 'holds a NUL character');
  if (!text.isWellFormed()) throw refusal(pointer.toWellFormed(), 'holds half of a surrogate pair');
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', `The body is refused: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
