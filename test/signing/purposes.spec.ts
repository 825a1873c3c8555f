import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, sign, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** Purposes allowed in requests, by the key's purpose. An empty string stands for a request without a purpose. */
const TABLE: Record<string, readonly string[]> = {
  signing: ['', 'code-signing', 'documents'],
  'code-signing': ['', 'code-signing'],
  documents: ['', 'documents'],
  // Only requests with the format `openpgp` are allowed; test/signing/openpgp.spec.ts covers them.
  openpgp: [],
  'ssh-login': ['ssh-login'],
  'ssh-signatures': ['ssh-signatures'],
  'tls-client': ['tls-client'],
  timestamping: [],
  certificates: [],
};
const ASKED = ['', 'code-signing', 'documents', 'openpgp', 'ssh-login', 'ssh-signatures', 'tls-client'];
const CELLS = Object.entries(TABLE).flatMap(([purpose, signs]) =>
  ASKED.map((asked) => [purpose, asked === '' ? 'nothing said' : asked, asked, signs.includes(asked)] as const),
);

let stage: Stage;
let service: Service;
let apiKey: string;
const keys = new Map<string, PublishedKey>();

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  for (const purpose of Object.keys(TABLE))
    keys.set(purpose, await createKey(service, apiKey, { name: `for-${purpose}`, type: 'ec-p256', purpose }));
});
afterAll(() => stage.close());

function ask(purpose: string, asked: string, message: Buffer): Promise<Answer> {
  const body = { digest: digestOf(message), key: `for-${purpose}`, ...(asked === '' ? {} : { purpose: asked }) };
  return sign(service, { key: apiKey, body });
}

describe('a signing key', () => {
  it.each(CELLS.filter(([, , , signs]) => signs))('for %s, %s: signs', async (purpose, _, asked) => {
    const message = randomBytes(16);
    const answer = await ask(purpose, asked, message);
    expect(answer).toMatchObject({ status: 200, body: { status: 'SIGNED' } });
    const key = keys.get(purpose);
    expect(key !== undefined && verifies(message, key, Buffer.from(answer.body.signature, 'base64'))).toBe(true);
  });

  it.each(CELLS.filter(([, , , signs]) => !signs))('for %s, %s: does not sign', async (purpose, _, asked) => {
    const message = randomBytes(16);
    const openPgp = { status: 400, code: 'openpgp.format' };
    const refusal = asked === 'openpgp' ? openPgp : { status: 403, code: 'signing-key.purpose' };
    assertProblem(await ask(purpose, asked, message), refusal);
    expect(stage.operationsOn(digestOf(message))).toBe(0);
  });

  it('for a special purpose yields valid signatures only if that key is named', async () => {
    const message = randomBytes(16);
    const { signature } = (await ask('tls-client', 'tls-client', message)).body;
    const verify = (key?: string) =>
      service.call('POST', '/api/v1/verify', { key: apiKey, body: { digest: digestOf(message), signature, key } });
    expect((await verify()).body.valid).toBe(false);
    const { body } = await verify('for-tls-client');
    expect([body.valid, body.checks[0].detail]).toEqual([true, 'made by version 1 of key "for-tls-client"']);
  });

  it('is found for a signature after another key signed the same digest thousands of times', async () => {
    const message = randomBytes(16);
    const { requestId } = (await ask('code-signing', 'code-signing', message)).body;
    await stage.sql(
      `INSERT INTO signing_request SELECT (jsonb_populate_record(r, jsonb_build_object('id', overlay(gen_random_uuid()::text PLACING '00' FROM 1)))).*
       FROM signing_request r, generate_series(1, 10050) WHERE r.id = $1`,
      [requestId],
    );
    const { signature } = (await ask('signing', '', message)).body;
    const body = { digest: digestOf(message), signature };
    const verified = await service.call('POST', '/api/v1/verify', { key: apiKey, body });
    expect(verified.body).toMatchObject({ valid: true, key: { name: 'for-signing' } });
  });

  it('has its purpose in the token label: changing the row yields no signature', async () => {
    const login = keys.get('ssh-login');
    await stage.change(`UPDATE signing_key SET purpose = 'code-signing', revision = revision + 1 WHERE id = $1`, [
      login?.id,
    ]);
    const message = randomBytes(16);
    const answer = await ask('ssh-login', 'code-signing', message);
    assertProblem(answer, { status: 422, code: 'hsm.other-key' });
    expect(stage.operationsOn(digestOf(message))).toBe(0);
    await stage.change(`UPDATE signing_key SET purpose = 'ssh-login', revision = revision + 1 WHERE id = $1`, [
      login?.id,
    ]);
  });

  it('signs a batch for a single purpose', async () => {
    const items = [{ digest: digestOf(randomBytes(16)) }];
    const batch = (body: object) =>
      service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items, ...body } });
    const taken = await batch({ key: 'for-ssh-signatures', purpose: 'ssh-signatures' });
    expect(taken.body.items ?? taken.body).toMatchObject([{ status: 'SIGNED' }]);
    const refused = await batch({ key: 'for-ssh-signatures' });
    expect(JSON.stringify(refused.body)).toContain('signing-key.purpose');
  });
});
