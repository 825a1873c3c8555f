import { describe, expect, it } from 'vitest';
import { operationsOf, shippedDocument } from '../support/api-document.js';
import { isForeign } from '../support/foreign-errors.js';

const document = shippedDocument();
const operations = operationsOf(document);

// oxlint-disable-next-line typescript/no-explicit-any -- schemas are read freely
type Schema = any;

describe.each(operations)('$method $path', ({ operationId, path, summary, scopes, isPublic, raw }) => {
  it('has an ID, a summary of two to six words, a description, and the scopes of its callers', () => {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(summary).toMatch(/^[A-Z][^ ]*(?: [^ .]+){1,5}$/);
    expect(raw.description).toMatch(/^[A-Z`].*\.$/s);
    expect(scopes === undefined).toBe(isPublic);
    expect(raw.tags).toHaveLength(1);
  });

  it('has examples of request and response', () => {
    const media = [raw.requestBody, ...Object.values(raw.responses)].flatMap((part: Schema) =>
      Object.values(part?.content ?? {}),
    );
    // The example is next to a body's schema or inside the schema.
    const bare = media.filter(({ example, examples }: Schema) => example === undefined && examples === undefined);
    expect(bare.flatMap(({ schema }: Schema) => withoutExample(schema, operationId))).toEqual([]);
  });

  it('lists every parameter once; header names are case-insensitive', () => {
    const names = (raw.parameters ?? []).map(
      (one: Schema) => `${one.in} ${one.in === 'header' ? one.name.toLowerCase() : one.name}`,
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it('may return a problem, in its own format or that of the emulated service', () => {
    const types = Object.keys(raw.responses['4XX'].content);
    expect(types).toEqual([isForeign(path) ? 'application/json' : 'application/problem+json']);
    const { schema } = raw.responses['4XX'].content[types[0] ?? ''];
    const own = isForeign(path) ? /\/(?:VaultErrors|SignServerError)$/ : /\/ProblemView$/;
    expect(schema.$ref).toMatch(own);
    expect(raw.responses).toHaveProperty('5XX');
  });
});

it('operation IDs are unique', () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
});

it('every schema, property and parameter has a description', () => {
  const schemas: [string, Schema][] = Object.entries(document.components.schemas);
  const parts = schemas.flatMap(([name, schema]) => [
    [name, schema],
    ...Object.entries<Schema>(schema.properties ?? {}).map(([field, part]) => [`${name}.${field}`, part]),
  ]);
  const parameters = operations.flatMap(({ operationId, raw }) =>
    (raw.parameters ?? []).map((one: Schema) => [`${operationId} ${one.name}`, one]),
  );
  const bare = [...parts, ...parameters].filter(([, part]) => !part.description).map(([name]) => name);
  expect(bare).toEqual([]);
});

/** Returns the paths of values that have no example, enum or default and whose type does not suggest a value. */
function withoutExample(schema: Schema, path: string): string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1);
    return withoutExample(document.components.schemas[name], name);
  }
  if (['example', 'enum', 'default', 'const'].some((key) => key in schema)) return [];
  if (schema.allOf !== undefined) return schema.allOf.flatMap((part: Schema) => withoutExample(part, path));
  if (schema.type === 'array') return withoutExample(schema.items, `${path}[]`);
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([name, part]) => withoutExample(part, `${path}.${name}`));
  return schema.type === 'boolean' || schema.format === 'date-time' ? [] : [path];
}
