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
/** External address of this machine; undefined without a network. */
const outside = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly body?: object;
  readonly address?: string;
}

/** Sends a call with a custom Host header, like a web page whose host name resolves to this machine. */
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

describe('host names', () => {
  it.each(['localhost', '127.0.0.1', '[::1]', 'sw.example.com', 'api', 'sw.ns.cluster.local'])(
    'accept %s',
    async (host) => {
      expect((await callAs(`${host}:${portOf(local)}`, local)).status).toBe(401);
    },
  );

  it.each(['/api/auth/me', '/', '/actuator/prometheus', '/swagger-ui/index.html', '/nowhere', '/actuator/healthy'])(
    'reject DNS rebinding for %s',
    async (path) => {
      expect(await callAs('rebound.attacker.example', local, { path })).toEqual(FOREIGN);
    },
  );

  it('reject DNS rebinding for registration', async () => {
    expect(await callAs('rebound.attacker.example', local, registration())).toEqual(FOREIGN);
    expect((await callAs('localhost', local, registration())).status).toBe(201);
  });

  it('are not checked for health probes', async () => {
    for (const host of ['10.1.2.3:9090', 'rebound.attacker.example', 'target-group'])
      expect((await callAs(host, local, { path: '/actuator/health' })).status).toBe(200);
  });

  it.skipIf(outside === undefined)('accept an IP address only if the connection was received on it', async () => {
    const address = outside ?? '';
    expect((await callAs(`${address}:1`, open, { address })).status).toBe(401);
    expect(await callAs('192.0.2.1', open, { address })).toEqual(FOREIGN);
  });
});

describe('in the dev profile', () => {
  it('the service listens on localhost only by default', async () => {
    // A call to another local address reaches a server that is bound to all addresses.
    const address = '127.0.0.2';
    expect((await callAs('localhost', open, { address })).status).toBe(401);
    await expect(callAs('localhost', local, { address })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.skipIf(outside === undefined)('the service is not reachable from outside', async () => {
    const call = callAs('localhost', local, { address: outside ?? '' });
    await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('nobody can register without an invitation if others can connect', async () => {
    expect(await callAs('localhost', open, registration())).toEqual({ status: 403, code: 'registration.closed' });
  });
});
