import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { assertOAuthError, type Client, deviceGrant, makeClient, type Parameters, postForm } from './oauth-calls.js';
import { register } from './people.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const newClient = (permissions: string[], type?: string): Promise<Client> =>
  makeClient(service, apiKey, permissions, type);
const form = (path: string, parameters: Parameters) => postForm(service, path, parameters);

describe('the device flow rejects', () => {
  it('a token request that the person denied', async () => {
    const client = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    const person = await register(service);
    const place = `/api/auth/device/${body.user_code}`;
    expect((await service.call('POST', `${place}/deny`, { key: person.accessToken })).status).toBe(204);
    assertOAuthError(await form('/oauth/token', deviceGrant(client, body.device_code)), 400, 'access_denied');
  });

  it('a second use of an approved code, ten concurrently', async () => {
    const client = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    const person = await register(service);
    await service.call('POST', `/api/auth/device/${body.user_code}/approve`, { key: person.accessToken });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => form('/oauth/token', deviceGrant(client, body.device_code))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('a code of another client, and an expired code', async () => {
    const client = await newClient(['sign:read'], 'public');
    const thief = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    assertOAuthError(await form('/oauth/token', deviceGrant(thief, body.device_code)), 400, 'invalid_grant');
    await stage.change(`UPDATE device_authorization SET expires_at = now() - interval '1 s' WHERE client_id = $1`, [
      client.client_id,
    ]);
    assertOAuthError(await form('/oauth/token', deviceGrant(client, body.device_code)), 400, 'expired_token');
  });

  it('consent by an API key or a client token', async () => {
    const client = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    const place = `/api/auth/device/${body.user_code}/approve`;
    expect((await service.call('POST', place, { key: apiKey })).body.code).toBe('auth.person-needed');
    const person = await register(service);
    await service.call('POST', place, { key: person.accessToken });
    const { body: tokens } = await form('/oauth/token', deviceGrant(client, body.device_code));
    const again = (await form('/oauth/device_authorization', { client_id: client.client_id })).body;
    const byDevice = `/api/auth/device/${again.user_code}/approve`;
    expect((await service.call('POST', byDevice, { key: tokens.access_token })).body.code).toBe('auth.person-needed');
  });

  it('code guesses by throttling, even between lookups of an own valid code', async () => {
    const client = await newClient(['sign:read'], 'public');
    const { body } = await form('/oauth/device_authorization', { client_id: client.client_id });
    const person = await register(service);
    const look = (code: string) => service.call('GET', `/api/auth/device/${code}`, { key: person.accessToken });
    const answers: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      answers.push((await look(`BBBB-BC${String.fromCharCode(66 + i)}B`)).status);
      answers.push((await look(body.user_code)).status);
    }
    expect(answers.slice(0, 10)).toEqual([404, 200, 404, 200, 404, 200, 404, 200, 404, 200]);
    expect(answers).toContain(429);
  });

  it('code guesses by throttling', async () => {
    const person = await register(service);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        service.call('GET', `/api/auth/device/BBBB-BB${String.fromCharCode(66 + i)}B`, { key: person.accessToken }),
      ),
    );
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(11);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(9);
  });
});
