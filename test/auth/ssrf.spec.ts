import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { atKnownAddress, PEERS_HERE } from './people.js';

/** An internal server that must not be reachable through the service. */
class Inside {
  calls = 0;
  private readonly server: Server;

  constructor(private readonly answer: { status: number; location?: string } = { status: 200 }) {
    this.server = createServer((_request, response) => {
      const { status, location } = this.answer;
      response.writeHead(status, location === undefined ? {} : { location }).end('{}');
    });
    this.server.on('connection', () => {
      this.calls += 1;
    });
  }

  async start(host: string): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, host, resolve));
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

let stage: Stage;
let closed: Service;
let open: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  closed = await stage.start({ role: 'api', settings: await atKnownAddress() });
  open = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
});
afterAll(() => stage.close());

function put(service: Service, name: string, issuer: string) {
  const body = { label: name, enabled: true, rules: [], issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret };
  return service.call('PUT', `/api/settings/identity-providers/oidc/${name}`, { key: apiKey, body });
}

const test = (service: Service, name: string) =>
  service.call('POST', `/api/settings/identity-providers/test/${name}`, { key: apiKey });

describe('an issuer inside the network (CWE-918)', () => {
  const inside = new Inside();
  let port: number;

  beforeAll(async () => {
    port = await inside.start('127.0.0.1');
  });
  afterAll(() => inside.stop());

  it.each([
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
  ])('is rejected as %s, with and without TLS', async (host) => {
    for (const scheme of ['http', 'https']) {
      const answer = await put(closed, 'inside', `${scheme}://${host}:${port}`);
      expect([400, 422]).toContain(answer.status);
    }
    expect(inside.calls).toBe(0);
  });

  it('is also rejected when the call is made, whoever configured it', async () => {
    expect((await put(open, 'inside', `http://127.0.0.1:${port}`)).status).toBe(200);
    assertProblem(await closed.call('GET', '/api/auth/oidc/login?provider=inside'), {
      status: 503,
      code: 'sso.provider-away',
    });
    const { body } = await test(closed, 'inside');
    expect(body).toMatchObject({ ok: false, findings: [{ check: 'discovery', ok: false }] });
    expect(body.findings[0].detail).toContain('the address of the target is not allowed');
    expect(inside.calls).toBe(0);
    await test(open, 'inside');
    expect(inside.calls).toBeGreaterThan(0);
  });

  it('is not reached through a redirect', async () => {
    const before = inside.calls;
    const leads = new Inside({ status: 302, location: `http://127.0.0.1:${port}/` });
    const issuer = `http://127.0.0.1:${await leads.start('127.0.0.1')}`;
    await put(open, 'leads', issuer);
    expect((await test(open, 'leads')).body.ok).toBe(false);
    // The service may request a discovery document from two URLs.
    expect(leads.calls).toBeGreaterThan(0);
    expect(inside.calls).toBe(before);
    leads.stop();
  });
});

describe('a provider test', () => {
  it('finds the metadata that oidc-provider publishes', async () => {
    const peer = new OpenIdPeer();
    await peer.start('http://127.0.0.1/callback');
    await put(open, 'peer', peer.issuer);
    const { status, body } = await test(open, 'peer');
    expect(status).toBe(200);
    expect(body.ok).toBe(true);
    expect(body.findings.map(({ check }: { check: string }) => check)).toEqual([
      'discovery',
      'token endpoint',
      'client authentication',
      'scopes',
      'sign-out',
      'signing keys',
      'redirect URI',
      'authentication context',
    ]);
    await put(open, 'astray', `${peer.issuer}/another`);
    expect((await test(open, 'astray')).body.ok).toBe(false);
    await peer.stop();
    expect((await test(open, 'peer')).body.findings[0].detail).toMatch(/ECONNREFUSED/);
  });

  it('cannot involve an invalid SAML certificate, which is not stored', async () => {
    const certificates = [`-----BEGIN CERTIFICATE-----\n${'A'.repeat(80)}\n-----END CERTIFICATE-----`];
    const body = { label: 'x', enabled: true, rules: [], entityId: 'https://x.example', certificates };
    const answer = await open.call('PUT', '/api/settings/identity-providers/saml/wrong', {
      key: apiKey,
      body: { ...body, entryPoint: 'https://x.example/sso' },
    });
    assertProblem(answer, { status: 422, code: 'identity-provider.certificate', pointer: '/certificates/0' });
  });
});
