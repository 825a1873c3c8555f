import type { OpenAPIObject } from '@nestjs/swagger';
import { SHARED_FIELDS } from './shared-fields.js';
import { SCHEMA_FIELDS, SINGLE_FIELDS } from './single-fields.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Descriptions of parameters without a description in their controllers. */
const PARAMETERS: Readonly<Record<string, string>> = {
  ...SHARED_FIELDS,
  ...SINGLE_FIELDS,
  certificateId: 'ID of the certificate.',
  day: 'Day, as `YYYY-MM-DD`.',
  environment: 'Returns only resources in this environment.',
  from: 'Start of the time range.',
  hash: 'Digest algorithm, named as in Vault.',
  id: 'ID of the resource.',
  iss: 'Issuer of the identity provider.',
  kind: 'Returns only resources of this kind.',
  level: 'Returns only resources at this risk level.',
  mount: 'Path of the secrets engine.',
  name: 'Name of the resource.',
  outcome: 'Returns only entries with this outcome.',
  owner: 'Returns only resources of this owner.',
  provider: 'Name of the identity provider.',
  reachability: 'Returns only hosts with this result of the last connection attempt.',
  RelayState: 'Opaque state of the request (SAML 2.0).',
  ruleId: 'ID of the rule.',
  sid: 'Session ID at the identity provider.',
  SigAlg: 'Signature algorithm (SAML 2.0).',
  Signature: 'Signature over the query string (SAML 2.0).',
  state: 'Returns only resources in this state.',
  status: 'Returns only resources with this status.',
  targetId: 'ID of the target.',
  ticket: 'Sign-in ticket.',
  to: 'End of the time range.',
  version: 'Version of the rules.',
};

interface Described {
  description?: string;
}

interface Schema extends Described {
  $ref?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
}

/** describe adds a description to every schema, field and parameter without a description. */
export function describe(document: OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  for (const [name, schema] of Object.entries(schemas)) describeFields(name, schema);
  for (const [name, text] of usesOf(document, schemas)) {
    const schema = schemas[name];
    if (schema !== undefined) schema.description ??= text;
  }
  for (const { parameters = [] } of operationsOf(document))
    for (const parameter of parameters) if ('name' in parameter) fill(parameter, PARAMETERS[parameter.name]);
}

function describeFields(name: string, { properties = {} }: Schema): void {
  for (const [field, schema] of Object.entries(properties))
    fill(schema, SCHEMA_FIELDS[`${name}.${field}`] ?? SHARED_FIELDS[field] ?? SINGLE_FIELDS[field]);
}

function fill(described: Described, text: string | undefined): void {
  if (text !== undefined) described.description ??= text;
}

/** Returns, for each schema, a sentence about the operations or schemas that use the schema. */
function usesOf(document: OpenAPIObject, schemas: Record<string, Schema>): Map<string, string> {
  const uses = new Map<string, string>();
  const add = (schema: unknown, text: string) => {
    for (const name of refsIn(schema)) if (!uses.has(name)) uses.set(name, text);
  };
  for (const { requestBody, summary = '' } of operationsOf(document))
    add(requestBody, `Request body for "${summary}".`);
  for (const { responses, summary = '' } of operationsOf(document))
    for (const [status, response] of Object.entries(responses))
      add(response, status.startsWith('2') ? `Response body for "${summary}".` : 'Error response body.');
  // Nested parts are described in later iterations.
  for (let before = -1; before !== uses.size;) {
    before = uses.size;
    for (const [name, schema] of Object.entries(schemas)) {
      const text = uses.get(name);
      if (text !== undefined)
        add(
          schema,
          text.replace(/^[ER]/, (first) => `Part of the ${first.toLowerCase()}`),
        );
    }
  }
  return uses;
}

function* refsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value))
    if (key === '$ref') yield String(part).split('/').at(-1) ?? '';
    else yield* refsIn(part);
}

function operationsOf({ paths }: OpenAPIObject) {
  return Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []));
}
