import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newEd25519Pair } from '../../src/formats/ssh/key-pair.js';
import { publicKeyLine } from '../../src/formats/ssh/public-key.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

interface Schema {
  readonly $ref?: string;
  readonly properties?: Record<string, Schema>;
  readonly example?: unknown;
}
type Operation = { readonly requestBody?: { readonly content?: Record<string, { readonly schema?: Schema }> } };

const DOCUMENT = JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** API fields that accept a line of a key file, recognized by their examples. */
const FIELDS = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { requestBody }]) => {
    const { schema } = requestBody?.content?.['application/json'] ?? {};
    const body = schema?.$ref === undefined ? schema : DOCUMENT.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return Object.entries(body?.properties ?? {})
      .filter(([, { example }]) => /^(?:ssh|ecdsa|sk)-\S+ AAAA/.test(String(example)))
      .map(([field]) => [method.toUpperCase(), path, field] as const);
  }),
);

const line = (comment: string) => `${publicKeyLine(newEd25519Pair('').publicKey)} ${comment}`;
const BETWEEN = ['\n', '\r\n', '\r', '\u0000', '\v', '\u0085', '\u2028', '\u2029', '\n ', '\u202e'];

describe('a field for a key file line', () => {
  let stage: Stage;
  let service: Service;
  let key: string;
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey: key } = await stage.seed());
    service = await stage.start({ settings: {} });
  });
  afterAll(() => stage.close());

  it('is listed for every API operation that has one', () => {
    expect(FIELDS.map((field) => field.join(' ')).sort()).toEqual([
      'POST /v1/host-authorities publicKey',
      'POST /v1/hosts/{id}/host-keys publicKey',
      'POST /v1/keys publicKey',
      'POST /v1/keys/{id}/rotate publicKey',
      'POST /v1/ssh-ca/{id}/certificates publicKey',
      'POST /v1/ssh-host-renewals certificate',
      'POST /v1/ssh-login publicKey',
    ]);
  });

  it.each(FIELDS)('%s %s rejects two lines, with a pointer to /%s', async (method, path, field) => {
    const before = await stage.sql('SELECT id FROM ssh_key');
    for (const between of BETWEEN) {
      const body = { custody: 'human', name: 'two', [field]: line('ann') + between + line('backdoor') };
      const answer = await service.call(method, path.replace('{id}', randomUUID()), { key, body });
      expect([between, answer.status]).toEqual([between, 400]);
      const pointers = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer);
      // NUL is rejected in any text before the field is validated.
      expect([between, ...pointers]).toContain(between === '\u0000' ? between : `/${field}`);
    }
    expect(await stage.sql('SELECT id FROM ssh_key')).toEqual(before);
  });

  it('accepts the file as written by ssh-keygen, and as saved by editors', async () => {
    for (const [before, after] of [
      ['', '\n'],
      ['', '\r\n'],
      ['\uFEFF', '\n\n'],
      ['\n', ''],
    ]) {
      const { status, body } = await service.call('POST', '/v1/keys', {
        key,
        body: { publicKey: before + line('Jürgen') + after },
      });
      expect([status, body.comment]).toEqual([201, 'Jürgen']);
    }
  });
});
