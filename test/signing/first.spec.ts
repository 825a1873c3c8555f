import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

describe('a digest goes in, a signature comes out', () => {
  it.each([false, true])('async %s', async (background) => {
    const message = Buffer.from('hello');
    const digest = createHash('sha256').update(message).digest('base64');
    const answer = await service.call('POST', '/api/v1/sign/digest', {
      key: apiKey,
      body: { digest, async: background },
    });
    expect(answer.status).toBe(background ? 202 : 200);
    const path = answer.headers.get('location') ?? '';
    const signed = await service.call('GET', `${path}?wait=10`, { key: apiKey });
    expect(signed.body.status).toBe('SIGNED');
    const keys = await service.call('GET', '/api/v1/signing-keys', { key: apiKey });
    const key = keys.body.items.find(({ name }: { name: string }) => name === 'default');
    expect(
      verify('sha256', message, createPublicKey(key.publicKey), Buffer.from(signed.body.signature, 'base64')),
    ).toBe(true);
  });
});
