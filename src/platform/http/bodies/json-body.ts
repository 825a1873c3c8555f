import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { jsonFault } from '../../json/json-fault.js';
import { findAmbiguity, withoutMark } from '../../json/strict-json.js';
import { Problem } from '../../errors/problem.js';
import { truncate } from '../../text/truncate.js';
import { pointerStep } from '../../json/json-pointer.js';

const MAX_DEPTH = 32;
const MAX_VALUES = 2000;
const MAX_POINTER_LENGTH = 200;
/** Member names that are never allowed, because copying a member with this name to an object would access the prototype of the object. */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * parseJsonBody parses a JSON body. Rejects deep nesting, too many values, prototype names, NUL characters and lone surrogates (which PostgreSQL cannot
 * store), numbers beyond the range of safe integers, and duplicate names. Returns undefined for an empty body, because many clients send a media type with
 * every request. A UTF-8 byte order mark is skipped. The error for another encoding contains the name of the encoding.
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
    throw new Problem('malformed', 'request.malformed', 'The body is not valid UTF-8. Send JSON in UTF-8.');
  inspect(value, mostValues);
  const found = findAmbiguity(text, { roundsNumbers: true });
  if (found !== undefined) throw refusal(truncate(found.pointer, MAX_POINTER_LENGTH), found.detail);
  return value;
}

function notJson(text: string, cause: unknown): Problem {
  const fault = jsonFault(text);
  if (fault === undefined)
    return new Problem('malformed', 'request.malformed', 'The body is not valid JSON.', { cause });
  const { line, column } = fault;
  const detail = `line ${line}, column ${column}: ${fault.detail}`;
  const errors = [{ pointer: '', detail, column }];
  return new Problem('malformed', 'request.malformed', `The body is not valid JSON at ${detail}.`, { cause, errors });
}

function isUtf8(body: Buffer): boolean {
  return Buffer.from(body.toString('utf8'), 'utf8').equals(body);
}

interface Place {
  readonly value: unknown;
  readonly pointer: string;
  readonly depth: number;
}

/** Inspects all values iteratively, so that deep nesting cannot overflow the stack. */
function inspect(root: unknown, mostValues: number): void {
  const stack: Place[] = [{ value: root, pointer: '', depth: 0 }];
  let seen = 0;
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    if (++seen > mostValues) throw refusal('', `more than ${mostValues} values`);
    const { value, pointer, depth } = place;
    if (typeof value === 'string') assertStorable(value, pointer);
    if (typeof value === 'number') assertKept(value, pointer);
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) throw refusal('', `nested deeper than ${MAX_DEPTH} levels`);
    for (const [name, member] of Object.entries(value)) {
      const at = `${pointer}/${pointerStep(truncate(name, 64))}`;
      if (!Array.isArray(value)) assertName(name, at);
      stack.push({ value: member, pointer: at, depth: depth + 1 });
    }
  }
}

/**
 * Rejects numbers that other JSON parsers do not preserve (RFC 7493 section 2.2), because approvers must see exactly what was sent. 1e400 would become
 * null.
 */
function assertKept(value: number, pointer: string): void {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw refusal(pointer, 'is a number beyond ±9007199254740991 (2^53−1); send it as a string');
}

function assertName(name: string, pointer: string): void {
  if (FORBIDDEN_NAMES.has(name)) throw refusal(pointer, 'has a member name that is not allowed');
  assertStorable(name, pointer);
}

function assertStorable(text: string, pointer: string): void {
  if (text.includes('\u0000')) throw refusal(pointer.replaceAll('\u0000', ''), 'contains a NUL character');
  if (!text.isWellFormed()) throw refusal(pointer.toWellFormed(), 'contains an unpaired surrogate');
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem(
    'malformed',
    'request.invalid',
    `${pointer === '' ? 'The body is invalid' : pointer}: ${detail}.`,
    {
      errors: [{ pointer, detail }],
    },
  );
}

/** Match the first four bytes in hexadecimal: a byte order mark, or the NUL bytes of ASCII characters. */
const UTF_32 = /^(?:0000|fffe0000|[\da-f]{2}000000)/;
const UTF_16 = /^(?:fffe|feff|00[\da-f]{2}|[\da-f]{2}00)/;

/**
 * assertNoWideEncoding rejects UTF-16 and UTF-32. JSON begins with an ASCII character, so a NUL byte among the first bytes indicates a wider encoding (RFC 4627
 * section 3).
 *
 * @throws Problem 400 `request.malformed` with the name of the encoding
 */
export function assertNoWideEncoding(body: Buffer): void {
  const head = body.toString('hex', 0, 4);
  const name = UTF_32.test(head) ? 'UTF-32' : UTF_16.test(head) ? 'UTF-16' : undefined;
  if (name === undefined) return;
  const detail = `The body is encoded as ${name}. Send it as UTF-8 (RFC 8259 section 8.1).`;
  throw new Problem('malformed', 'request.malformed', detail);
}

/** Limits of a route that accepts larger JSON: bytes of text and number of values. */
interface JsonLimits {
  readonly bytes: number;
  readonly values: number;
  /** A caller without this scope is rejected before a body above the default limit is read. */
  readonly scope: string;
}

/** TakesJson sets larger limits for the JSON body of a route. */
export const TakesJson = (limits: JsonLimits): MethodDecorator => RouteConfig({ json: limits });

/** readJsonLimits applies the limits of routes. Call readJsonLimits before routes are registered. */
export function readJsonLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const limits = limitsOf(route.config);
    if (limits !== undefined) route.bodyLimit = limits.bytes;
  });
}

/** jsonScopeOf returns the scope that a route with larger JSON bodies requires; undefined for other routes. */
export function jsonScopeOf(request: FastifyRequest): string | undefined {
  return limitsOf(request.routeOptions.config)?.scope;
}

/** mostValuesOf returns the maximum number of values in the body of a request; undefined for the default. */
export function mostValuesOf(request: FastifyRequest): number | undefined {
  return limitsOf(request.routeOptions.config)?.values;
}

function limitsOf(config: unknown): JsonLimits | undefined {
  return (config as { json?: JsonLimits } | undefined)?.json;
}
