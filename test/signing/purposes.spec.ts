import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, sign, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** Every purpose that a key can have, with the requests that it signs; '' is a request that says nothing. */
const TABLE: Record<string, readonly string[]> = {
  signing: ['', 'code-signing', 'documents'],
  'code-signing': ['', 'code-signing'],
  documents: ['', 'documents'],
  // The format openpgp alone, see openpgp.spec.
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

describe('a key signs what it is for and nothing else', () => {
  it.each(CELLS.filter(([, , , signs]) => signs))('a key for %s, %s: signed', async (purpose, _, asked) => {
    const message = randomBytes(16);
    const answer = await ask(purpose, asked, message);
    expect(answer).toMatchObject({ status: 200, body: { status: 'SIGNED' } });
    const key = keys.get(purpose);
    expect(key !== undefined && verifies(message, key, Buffer.from(answer.body.signature, 'base64'))).toBe(true);
  });

  it.each(CELLS.filter(([, , , signs]) => !signs))('a key for %s, %s: refused', async (purpose, _, asked) => {
    const message = randomBytes(16);
    const openPgp = { status: 400, code: 'openpgp.format' };
    const refusal = asked === 'openpgp' ? openPgp : { status: 403, code: 'signing-key.purpose' };
    assertProblem(await ask(purpose, asked, message), refusal);
    expect(stage.operationsOn(digestOf(message))).toBe(0);
  });

  it('the signature of a key for another purpose than code and documents is valid only if that key is named', async () => {
    const message = randomBytes(16);
    const { signature } = (await ask('tls-client', 'tls-client', message)).body;
    const verify = (key?: string) =>
      service.call('POST', '/api/v1/verify', { key: apiKey, body: { digest: digestOf(message), signature, key } });
    expect((await verify()).body.valid).toBe(false);
    const { body } = await verify('for-tls-client');
    expect([body.valid, body.checks[0].detail]).toEqual([true, 'by version 1 of the key "for-tls-client"']);
  });

  it('the purpose is part of the label in the token: changing the row gives no signature', async () => {
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

  it('a batch is for one purpose, too', async () => {
    const items = [{ digest: digestOf(randomBytes(16)) }];
    const batch = (body: object) =>
      service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items, ...body } });
    const taken = await batch({ key: 'for-ssh-signatures', purpose: 'ssh-signatures' });
    expect(taken.body.items ?? taken.body).toMatchObject([{ status: 'SIGNED' }]);
    const refused = await batch({ key: 'for-ssh-signatures' });
    expect(JSON.stringify(refused.body)).toContain('signing-key.purpose');
  });
});
