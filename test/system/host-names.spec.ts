import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPassword } from '../auth/people.js';
import { openStage, type Stage } from '../support/stage.js';
import type { Service } from '../support/service.js';

let stage: Stage;
let local: Service;
let open: Service;

beforeAll(async () => {
  stage = await openStage();
  await stage.seed();
  const settings = { SVC_PUBLIC_URL: 'https://sw.example.com', SVC_ALLOWED_HOSTS: 'api, *.cluster.local' };
  local = await stage.start({ role: 'api', settings: { ...settings, SVC_HOST: '' } });
  open = await stage.start({ role: 'api', settings: { ...settings, SVC_HOST: '0.0.0.0' } });
});
afterAll(() => stage.close());

const portOf = ({ url }: Service) => new URL(url).port;
/** An address of this machine that others can reach; undefined on a machine without network. */
const outside = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly body?: object;
  readonly address?: string;
}

/** A call with a Host made by hand, as a page does whose name leads here. */
function callAs(host: string, service: Service, { method = 'GET', path = '/api/auth/me', body, address }: Call = {}) {
  return new Promise<{ status: number; code: string }>((resolve, reject) => {
    const headers = { host, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const call = request({ host: address ?? '127.0.0.1', port: portOf(service), method, path, headers }, (answer) => {
      let text = '';
      answer.on('data', (part: Buffer) => (text += part.toString()));
      answer.on('end', () => {
        const isJson = (answer.headers['content-type'] ?? '').includes('json');
        const code = isJson ? (JSON.parse(text) as { code?: string }).code : '';
        resolve({ status: answer.statusCode ?? 0, code: code ?? '' });
      });
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const registration = () => ({
  method: 'POST',
  path: '/api/auth/register',
  body: { email: `${newPassword().slice(0, 8)}@example.org`, password: newPassword() },
});
const FOREIGN = { status: 421, code: 'request.host' };

describe('names', () => {
  it.each(['localhost', '127.0.0.1', '[::1]', 'sw.example.com', 'api', 'sw.ns.cluster.local'])(
    '%s is answered',
    async (host) => {
      expect((await callAs(`${host}:${portOf(local)}`, local)).status).toBe(401);
    },
  );

  it.each(['/api/auth/me', '/', '/actuator/prometheus', '/swagger-ui/index.html', '/nowhere', '/actuator/healthy'])(
    'a page whose name was turned to this machine gets nothing from %s',
    async (path) => {
      expect(await callAs('rebound.attacker.example', local, { path })).toEqual(FOREIGN);
    },
  );

  it('nor an account', async () => {
    expect(await callAs('rebound.attacker.example', local, registration())).toEqual(FOREIGN);
    expect((await callAs('localhost', local, registration())).status).toBe(201);
  });

  it('health is answered by whatever name a probe has', async () => {
    for (const host of ['10.1.2.3:9090', 'rebound.attacker.example', 'target-group'])
      expect((await callAs(host, local, { path: '/actuator/health' })).status).toBe(200);
  });

  it.skipIf(outside === undefined)('an address is one where the connection came in', async () => {
    const address = outside ?? '';
    expect((await callAs(`${address}:1`, open, { address })).status).toBe(401);
    expect(await callAs('192.0.2.1', open, { address })).toEqual(FOREIGN);
  });
});

describe('in the profile dev', () => {
  it('the service listens on this machine alone, unless somebody says otherwise', async () => {
    // Another address of this machine: a server on all of them answers there.
    const address = '127.0.0.2';
    expect((await callAs('localhost', open, { address })).status).toBe(401);
    await expect(callAs('localhost', local, { address })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.skipIf(outside === undefined)('and is not reached from outside', async () => {
    const call = callAs('localhost', local, { address: outside ?? '' });
    await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('nobody registers without an invitation where others can call', async () => {
    expect(await callAs('localhost', open, registration())).toEqual({ status: 403, code: 'registration.closed' });
  });
});
