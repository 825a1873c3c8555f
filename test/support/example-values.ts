import { type Operation, shippedDocument } from './api-document.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary parts of the document
type Schema = any;

const SCHEMAS = shippedDocument().components.schemas;

/** Values by type, for schemas without an example. */
const PLAIN: Record<string, unknown> = { object: {}, boolean: false, number: 1, integer: 1, string: 'x' };

/** Builds a value of this schema from its examples, with all optional members. */
function exampleOf(schema: Schema = {}): unknown {
  if (schema.$ref !== undefined) return exampleOf(SCHEMAS[schema.$ref.split('/').at(-1)]);
  const given = schema.example ?? schema.default ?? schema.enum?.[0];
  if (given !== undefined) return given;
  if (schema.allOf !== undefined) return exampleOf(schema.allOf[0]);
  if (schema.type === 'array') return [exampleOf(schema.items)];
  if (schema.properties === undefined) return PLAIN[schema.type];
  const members = Object.entries<Schema>(schema.properties);
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member)]));
}

/** Builds a valid body for the operation; undefined if it has none. */
export function exampleBodyOf({ raw }: Operation): unknown {
  const [content] = Object.values<{ schema: Schema }>(raw.requestBody?.content ?? {});
  return content === undefined ? undefined : exampleOf(content.schema);
}
