import { randomBytes } from 'node:crypto';
import type { Operation } from './api-document.js';
import { type GoodValues, type HostileCall, jsonText } from './hostile-values.js';

/** LONG_TEXT has 10,000 characters that PostgreSQL cannot compress enough to fit in an index entry. */
export const LONG_TEXT = randomBytes(7500).toString('base64url');

type Schema = Readonly<Record<string, unknown>>;
type Place = readonly (string | number)[];

/** Builds calls with one string of 10,000 characters: in each string of the body, each map key, each path and query parameter, and each header. */
export function longCallsOf(operation: Operation, good: GoodValues, schemas: Record<string, Schema>): HostileCall[] {
  const parameters: { in: string; name: string }[] = operation.raw.parameters ?? [];
  const named = (where: string) => parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
  const address = (changed?: string) =>
    operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(name === changed ? LONG_TEXT : good.pathValue(operation, name)),
    );
  const body = good.body(operation);
  const headers = { 'content-type': 'application/json', 'if-match': '"1"' };
  const text = body === undefined || operation.method === 'GET' ? undefined : jsonText(body);
  const bodies = text === undefined ? [] : longBodies(body, bodySchemaOf(operation), schemas);
  const calls = [
    ...named('path').map((name) => ({ path: address(name), headers, body: text })),
    ...named('query').map((name) => ({ path: `${address()}?${name}=${LONG_TEXT}`, headers, body: text })),
    ...named('header').map((name) => ({
      path: address(),
      headers: { ...headers, [name.toLowerCase()]: LONG_TEXT },
      body: text,
    })),
    ...bodies.map((changed) => ({ path: address(), headers, body: jsonText(changed) })),
  ];
  return calls.map((call) => ({ operation, ...call }));
}

/** Returns variants of a body with a long string in place of each string in the body or its schema. */
export function longBodies(body: unknown, schema: Schema = {}, schemas: Record<string, Schema> = {}): unknown[] {
  const places = [...textsIn(body), ...describedTexts(schema, schemas)];
  const once = new Map(places.map((place) => [JSON.stringify(place), place]));
  return [...once.values()].map((place) => withTextAt(body, place));
}

function bodySchemaOf({ raw }: Operation): Schema {
  const [content] = Object.values((raw.requestBody?.content ?? {}) as Record<string, { schema?: Schema }>);
  return content?.schema ?? {};
}

function textsIn(value: unknown, at: Place = []): Place[] {
  if (typeof value === 'string') return [at];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    textsIn(member, [...at, Array.isArray(value) ? Number(name) : name]),
  );
}

/** Returns the positions of all strings that a schema describes. A map has two positions: a name and a value. */
function describedTexts(
  schema: Schema,
  schemas: Record<string, Schema>,
  at: Place = [],
  around: readonly Schema[] = [],
): Place[] {
  const name = typeof schema['$ref'] === 'string' ? (schema['$ref'].split('/').at(-1) ?? '') : undefined;
  const found = name === undefined ? schema : (schemas[name] ?? {});
  if (around.includes(found)) return [];
  const inner = (one: unknown, place: Place) =>
    describedTexts((one ?? {}) as Schema, schemas, place, [...around, found]);
  const { type, properties, items, additionalProperties: others } = found;
  const alternatives = ['allOf', 'anyOf', 'oneOf'].flatMap((kind) => (found[kind] ?? []) as Schema[]);
  return [
    ...([type].flat().includes('string') ? [at] : []),
    ...alternatives.flatMap((one) => inner(one, at)),
    ...Object.entries((properties ?? {}) as Record<string, Schema>).flatMap(([member, one]) =>
      inner(one, [...at, member]),
    ),
    ...(items === undefined ? [] : inner(items, [...at, 0])),
    ...(others === undefined || others === false
      ? []
      : [[...at, 'x'], [...at, LONG_TEXT], ...inner(others, [...at, 'x'])]),
  ];
}

/** Replaces the value at a position, creating missing objects and lists on the way. */
function withTextAt(value: unknown, [name, ...rest]: Place): unknown {
  if (name === undefined) return LONG_TEXT;
  if (typeof name === 'number') {
    const list: unknown[] = Array.isArray(value) ? [...value] : [];
    list[name] = withTextAt(list[name], rest);
    return list;
  }
  const members =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  return { ...members, [name]: withTextAt(members[name], rest) };
}
