import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { operationsOf, shippedDocument } from '../support/api-document.js';
import { isForeign } from '../support/foreign-errors.js';
import { runToEnd } from '../support/service.js';

const ROOT = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'sealwright-openapi-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const document = shippedDocument();
const operations = operationsOf(document);

// oxlint-disable-next-line typescript/no-explicit-any -- schemas are looked into freely
type Schema = any;

function lint(file: string): { errors: number; output: string } {
  const redocly = join(ROOT, 'node_modules/.bin/redocly');
  const { stdout, stderr } = spawnSync(
    redocly,
    ['lint', file, '--config', join(ROOT, 'redocly.yaml'), '--format=json'],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  return { errors: JSON.parse(stdout).totals.errors, output: stdout + stderr };
}

describe('docs/openapi.json', () => {
  it('is what this build writes', async () => {
    const out = join(directory, 'openapi.json');
    await runToEnd(['openapi', '--out', out], {});
    expect(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')).toBe(readFileSync(out, 'utf8'));
  });

  it('has no errors, and the linter would find one', () => {
    expect(lint(join(ROOT, 'docs/openapi.json')).errors).toBe(0);
    const broken = shippedDocument();
    broken.components.schemas.CreateSigningKeyBody.properties.type.example = 'rsa-1024';
    delete broken.paths['/api/v1/sign/digest'].post.operationId;
    const file = join(directory, 'broken.json');
    writeFileSync(file, JSON.stringify(broken));
    expect(lint(file).errors).toBe(2);
  });
});

describe.each(operations)('$method $path', ({ operationId, path, summary, scopes, isPublic, raw }) => {
  it('has a name, a sentence that says what it does, and says who may call it', () => {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(scopes === undefined).toBe(isPublic);
    expect(raw.tags).toHaveLength(1);
  });

  it('shows an example of whatever goes in and comes out', () => {
    const media = [raw.requestBody, ...Object.values(raw.responses)].flatMap((part: Schema) =>
      Object.values(part?.content ?? {}),
    );
    // An example stands beside the schema of a body, or inside it.
    const bare = media.filter(({ example, examples }: Schema) => example === undefined && examples === undefined);
    expect(bare.flatMap(({ schema }: Schema) => withoutExample(schema, operationId))).toEqual([]);
  });

  it('lists every parameter once; names of headers have no case', () => {
    const names = (raw.parameters ?? []).map(
      (one: Schema) => `${one.in} ${one.in === 'header' ? one.name.toLowerCase() : one.name}`,
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it('may answer a problem, in its own shape or that of the service whose clients call', () => {
    const types = Object.keys(raw.responses['4XX'].content);
    expect(types).toEqual([isForeign(path) ? 'application/json' : 'application/problem+json']);
    const { schema } = raw.responses['4XX'].content[types[0] ?? ''];
    const own = isForeign(path) ? /\/(?:VaultErrors|SignServerError)$/ : /\/ProblemView$/;
    expect(schema.$ref).toMatch(own);
    expect(raw.responses).toHaveProperty('5XX');
  });
});

it('no two operations have the same name', () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
});

/** Paths of the values that a reader could not imagine: neither example nor enum nor default, and not told by their type. */
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
