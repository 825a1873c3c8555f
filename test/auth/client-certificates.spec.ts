import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { has } from '../support/peers.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { type ClientCertificate, issue } from './issued-certificates.js';
import { atKnownAddress } from './people.js';

const EXAMPLES = join(import.meta.dirname, '../../deploy/proxy');
const PROXY = '127.0.0.1';
/** A local address other than the proxy's. */
const ELSEWHERE = '127.0.0.2';

interface Certified {
  readonly key: Buffer;
  readonly cert: Buffer;
  /** Certificate thumbprint (`x5t#S256`). */
  readonly thumbprint: string;
  /** Value of the Client-Cert header (RFC 9440). */
  readonly header: string;
}

let directory: string;
let stage: Stage;
let service: Service;
let client: { client_id: string; client_secret: string };
let first: Certified;
let second: Certified;
const proxies: ChildProcess[] = [];
let apiKey: string;

const JOB = 'spiffe://example.com/ci/job';
/** A root CA, an intermediate CA, and the certificates issued by the intermediate CA. */
let issued: Record<'root' | 'between' | 'job' | 'other' | 'expired', ClientCertificate>;
/** `client_id` of each client that authenticates with a certificate. */
let ids: Record<'uploaded' | 'chained' | 'pinned', string>;

async function issueAll(): Promise<typeof issued> {
  const root = await issue('CN=Root');
  const between = await issue('CN=Between', { by: root });
  const [job, other, expired] = await Promise.all([
    issue('CN=job', { by: between, uri: JOB }),
    issue('CN=job', { by: between, uri: `${JOB}-evil` }),
    issue('CN=job', { by: between, uri: JOB, until: -1 }),
  ]);
  return { root, between, job, other, expired };
}

async function register(body: object): Promise<string> {
  const answer = await service.call('POST', '/api/settings/oauth-clients', {
    key: apiKey,
    body: { name: 'by certificate', permissions: ['sign:read'], ...body },
  });
  expect(answer).toMatchObject({ status: 201 });
  expect(answer.body).not.toHaveProperty('client_secret');
  expect(answer.body.tls_client_certificate_bound_access_tokens).toBe(true);
  return answer.body.client_id;
}

async function registerAll(): Promise<typeof ids> {
  const { root, between } = issued;
  const subject = { trustAnchors: [root.cert], tls_client_auth_san_uri: JOB };
  const [uploaded, chained, pinned] = await Promise.all([
    register({ ...subject, intermediates: [between.cert] }),
    register({ ...subject, token_endpoint_auth_method: 'tls_client_auth' }),
    register({ certificates: [first.cert.toString()] }),
  ]);
  return { uploaded, chained, pinned };
}

/** Creates a self-signed certificate with OpenSSL. */
function certified(name: string): Certified {
  const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
  const order = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', [...order, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const { raw } = new X509Certificate(readFileSync(cert));
  const thumbprint = createHash('sha256').update(raw).digest('base64url');
  return { key: readFileSync(key), cert: readFileSync(cert), thumbprint, header: `:${raw.toString('base64')}:` };
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sw-client-certs-'));
  [first, second] = [certified('first'), certified('second')];
  const server = certified('sealwright.example.com');
  writeFileSync(join(directory, 'sealwright.pem'), Buffer.concat([server.cert, server.key]));
  writeFileSync(join(directory, 'sealwright.key'), server.key);
  stage = await openStage();
  const { apiKey: key } = await stage.seed();
  apiKey = key;
  const headers = { SVC_CLIENT_CERT_HEADER: 'Client-Cert', SVC_CLIENT_CERT_CHAIN_HEADER: 'Client-Cert-Chain' };
  const trusted = { SVC_TRUST_PROXY: PROXY, ...headers };
  const settings = { ...(await atKnownAddress()), ...trusted, SVC_ALLOWED_HOSTS: 'sealwright.example.com' };
  service = await stage.start({ role: 'api', settings });
  const body = { name: 'in TLS', permissions: ['sign:read'], tls_client_certificate_bound_access_tokens: true };
  ({ body: client } = await service.call('POST', '/api/settings/oauth-clients', { key, body }));
  issued = await issueAll();
  ids = await registerAll();
});
afterAll(async () => {
  for (const proxy of proxies) {
    proxy.kill('SIGTERM');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  }
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Told {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses can have any shape
  readonly body: any;
}

function answerOf(options: RequestOptions & { readonly isTls?: boolean }, form?: object): Promise<Told> {
  return new Promise((resolve, reject) => {
    const { isTls = false, ...rest } = options;
    const content = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const headers = { ...content, ...(rest.headers as Record<string, string> | undefined) };
    const call = (isTls ? httpsRequest : httpRequest)({ ...rest, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : { text } }),
      );
    });
    call.on('error', reject);
    call.end(form === undefined ? undefined : new URLSearchParams({ ...form }).toString());
  });
}

const grant = () => ({
  grant_type: 'client_credentials',
  client_id: client.client_id,
  client_secret: client.client_secret,
});

/** Sends a request without a proxy, from a local address. */
function from(address: string, path: string, headers: Record<string, string | string[]>, form?: object): Promise<Told> {
  const { hostname, port } = new URL(service.url);
  const method = form === undefined ? 'GET' : 'POST';
  return answerOf({ hostname, port, path, method, localAddress: address, headers }, form);
}

const byCertificate = (id: string) => ({ grant_type: 'client_credentials', client_id: id });
const REFUSED = { status: 401, body: { error: 'invalid_client' } };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const shown = ({ header }: { readonly header: string }) => ({ 'client-cert': header });

describe('a certificate-bound token (RFC 8705)', () => {
  it('is issued to a client with a certificate, and works only with that certificate', async () => {
    const { status, body } = await from(PROXY, '/oauth/token', shown(first), grant());
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' });
    const claims = JSON.parse(Buffer.from(String(body.access_token).split('.')[1] ?? '', 'base64url').toString());
    expect(claims.cnf).toEqual({ 'x5t#S256': first.thumbprint });
    const me = (headers: object, address = PROXY) =>
      from(address, '/api/auth/me', { ...bearer(body.access_token), ...headers });
    expect((await me(shown(first))).status).toBe(200);
    for (const headers of [{}, shown(second), { 'client-cert': '::' }, { 'client-cert': [first.header, first.header] }])
      expect(await me(headers)).toMatchObject({ status: 401, body: { code: 'auth.token-binding' } });
    // The sender is not a trusted proxy, regardless of what its forwarding headers claim.
    expect((await me(shown(first), ELSEWHERE)).status).toBe(401);
    expect((await me({ ...shown(first), 'x-forwarded-for': PROXY }, ELSEWHERE)).status).toBe(401);
  });

  it('is not issued without a certificate, nor for a certificate header set by somebody else', async () => {
    for (const [address, headers] of [
      [PROXY, {}],
      [ELSEWHERE, shown(first)],
      [PROXY, { 'client-cert': 'x' }],
    ] as const)
      expect(await from(address, '/oauth/token', headers, grant())).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
  });

  it('is announced in the metadata', async () => {
    const { body } = await from(PROXY, '/.well-known/oauth-authorization-server', {});
    expect(body.tls_client_certificate_bound_access_tokens).toBe(true);
    for (const endpoint of ['token', 'revocation', 'introspection'])
      expect(body[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(
        expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
      );
  });
});

describe('a client with a registered certificate (RFC 8705 section 2.2)', () => {
  const token = (headers: object, form: object, address = PROXY) => from(address, '/oauth/token', { ...headers }, form);

  it('authenticates with that certificate only, and with no other method', async () => {
    const { pinned } = ids;
    expect((await token(shown(first), byCertificate(pinned))).status).toBe(200);
    const form = byCertificate(pinned);
    for (const [headers, more, address] of [
      [shown(second), {}, PROXY],
      [shown(issued.job), {}, PROXY],
      [{}, {}, PROXY],
      [shown(first), {}, ELSEWHERE],
      [{ ...shown(first), 'x-forwarded-for': PROXY }, {}, ELSEWHERE],
      [shown(first), { client_secret: 'x' }, PROXY],
      [{ ...shown(first), authorization: `Basic ${Buffer.from(`${pinned}:`).toString('base64')}` }, {}, PROXY],
    ] as const)
      expect(await token(headers, { ...form, ...more }, address)).toMatchObject(REFUSED);
    // A client with a secret cannot authenticate with a certificate, even if the certificate is registered for another client.
    expect(await token(shown(first), byCertificate(client.client_id))).toMatchObject(REFUSED);
  });

  it('is not matched by a copy of its names and serial number, or by a certificate with the key of another client', async () => {
    const copy = (key: string | undefined, name: string, subject: string): Certified => {
      const serial = new X509Certificate(first.cert).serialNumber;
      const by = key === undefined ? [] : ['-key', join(directory, key)];
      const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(directory, `${name}.key`)];
      const out = join(directory, `${name}.pem`);
      execFileSync('openssl', ['req', '-x509', ...(key === undefined ? fresh : by), '-nodes', '-days', '2', '-subj', subject, '-addext', 'subjectAltName=DNS:first', '-set_serial', `0x${serial}`, '-out', out], { stdio: 'ignore' }); // prettier-ignore
      const { raw } = new X509Certificate(readFileSync(out));
      return { key: Buffer.alloc(0), cert: readFileSync(out), thumbprint: '', header: `:${raw.toString('base64')}:` };
    };
    const other = await register({ certificates: [second.cert.toString()] });
    // A certificate with the same name and serial number but another key, as in CVE-2025-6037.
    expect(await token(shown(copy(undefined, 'copied', '/CN=first')), byCertificate(ids.pinned))).toMatchObject(
      REFUSED,
    );
    // A certificate with the name of the first client and the key of the second client.
    const impostor = copy('second.key', 'impostor', '/CN=first');
    expect(await token(shown(impostor), byCertificate(ids.pinned))).toMatchObject(REFUSED);
    expect((await token(shown(second), byCertificate(other))).status).toBe(200);
    // A non-CA certificate cannot be a trust anchor.

    const leaf = {
      name: 'anchored',
      permissions: ['sign:read'],
      trustAnchors: [issued.job.cert],
      tls_client_auth_san_uri: JOB,
    };
    const answer = await service.call('POST', '/api/settings/oauth-clients', { key: apiKey, body: leaf });
    expect(answer).toMatchObject({ status: 422, body: { code: 'oauth-client.certificates' } });
  });

  it('may introspect and revoke tokens', async () => {
    const { body } = await token(shown(first), byCertificate(ids.pinned));
    const form = { client_id: ids.pinned, token: body.access_token };
    const about = (headers: object) => from(PROXY, '/oauth/introspect', { ...headers }, form);
    expect(await about(shown(second))).toMatchObject(REFUSED);
    const cnf = { 'x5t#S256': first.thumbprint };
    expect((await about(shown(first))).body).toMatchObject({ active: true, client_id: ids.pinned, cnf });
    expect((await from(PROXY, '/oauth/revoke', shown(first), form)).status).toBe(200);
    await until('the token has ended', 10, async () => (await about(shown(first))).body.active === false);
  });

  it('is rejected with its tokens once another certificate is registered, and the audit log names both', async () => {
    const id = await register({ certificates: [first.cert.toString()] });
    const { body: got } = await token(shown(first), byCertificate(id));
    const me = () => from(PROXY, '/api/auth/me', { ...bearer(got.access_token), ...shown(first) });
    expect((await me()).status).toBe(200);
    const path = `/api/settings/oauth-clients/${id}/certificates`;
    const replace = (body: object) => service.call('PUT', path, { key: apiKey, body });
    const authority = { trustAnchors: [issued.root.cert], tls_client_auth_san_dns: 'job.example.com' };
    expect(await replace(authority)).toMatchObject({ status: 409, body: { code: 'oauth-client.no-certificates' } });
    expect(await replace({ certificates: ['x'] })).toMatchObject({
      status: 422,
      body: { code: 'oauth-client.certificates', errors: [{ pointer: '/certificates/0' }] },
    });
    expect((await me()).status).toBe(200);
    const view = (await replace({ certificates: [second.cert.toString()] })).body;
    expect(view.certificates).toMatchObject([{ sha256: second.thumbprint, subject: 'CN=second' }]);
    expect(await token(shown(first), byCertificate(id))).toMatchObject(REFUSED);
    expect((await token(shown(second), byCertificate(id))).status).toBe(200);
    await until('its tokens have ended', 10, async () => (await me()).status === 401);
    const rows = await stage.sql(
      `SELECT action, detail FROM audit_entry WHERE target_id = $1 AND action LIKE 'oauth-client.%' ORDER BY id`,
      [id],
    );
    expect(rows).toMatchObject([
      { action: 'oauth-client.created', detail: { certificates: [first.thumbprint] } },
      { action: 'oauth-client.certificates-replaced', detail: { certificates: [second.thumbprint] } },
    ]);
  });
});

interface ProxyExample {
  readonly program: string;
  readonly file: string;
  readonly asks: (text: string) => string;
  readonly run: (file: string) => string[];
  /**
   * Clients that can authenticate through the proxy with a certificate issued by an intermediate CA. `refused` lists the clients that cannot.
   */
  readonly accepted: readonly (keyof typeof ids)[];
  readonly refused: readonly (keyof typeof ids)[];
}

const PROXIES: ProxyExample[] = [
  {
    program: 'haproxy',
    file: 'haproxy.cfg',
    asks: (text: string) =>
      text.replace(/ssl crt (\S+)/, 'ssl crt $1 verify optional ca-file $1 ca-ignore-err all crt-ignore-err all'),
    run: (file: string) => ['-db', '-f', file],
    accepted: ['uploaded', 'chained'],
    refused: [],
  },
  {
    program: 'nginx',
    file: 'nginx.conf',
    asks: (text: string) => text.replace('# ssl_verify_client', 'ssl_verify_client'),
    run: (file: string) => ['-p', directory, '-c', file, '-g', `pid ${directory}/pid; error_log stderr; daemon off;`],
    accepted: ['uploaded'],
    refused: ['chained'],
  },
];

describe.each(PROXIES)(
  'behind $program with the example configuration',
  ({ program, file, asks, run, accepted, refused }) => {
    it.runIf(has(program))('uses the certificate of the connection and ignores client headers', async () => {
      const port = await freePort();
      const text = asks(readFileSync(join(EXAMPLES, file), 'utf8'))
        .replaceAll(/api\d\.example\.com:9090/g, new URL(service.url).host)
        .replaceAll(/\/etc\/(?:haproxy|nginx)\//g, `${directory}/`)
        .replace(/(bind |listen ):?443/, `$1127.0.0.1:${port}`);
      writeFileSync(join(directory, file), text);
      proxies.push(spawn(program, run(join(directory, file)), { stdio: 'ignore' }));
      const through = (
        path: string,
        by: { readonly key: string | Buffer; readonly cert: string | Buffer } | undefined,
        headers: object,
        form?: object,
      ) => {
        const inTls = by === undefined ? {} : { key: by.key, cert: by.cert };
        const peer = { host: '127.0.0.1', port, servername: 'sealwright.example.com', rejectUnauthorized: false };
        const host = { host: 'sealwright.example.com', ...headers };
        return answerOf({ ...peer, ...inTls, isTls: true, path, method: form === undefined ? 'GET' : 'POST', headers: host }, form); // prettier-ignore
      };
      await until('the proxy answers', 30, () =>
        through('/actuator/health/readiness', undefined, {}).then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
      const { status, body } = await through('/oauth/token', first, shown(second), grant());
      expect(status).toBe(200);
      const me = (by: Certified | undefined, headers: object = {}) =>
        through('/api/auth/me', by, { ...bearer(body.access_token), ...headers });
      expect((await me(first)).status).toBe(200);
      expect((await me(first, shown(second))).status).toBe(200);
      expect((await me(second, shown(first))).status).toBe(401);
      expect((await me(undefined, shown(first))).status).toBe(401);
      expect((await through('/oauth/token', undefined, shown(first), grant())).status).toBe(400);

      const { job, other, expired, between } = issued;
      const withChain = ({ key, cert }: ClientCertificate) => ({ key, cert: cert + between.cert });
      const beside = { 'client-cert-chain': between.header };
      for (const name of accepted) {
        const got = await through('/oauth/token', withChain(job), shown(other), byCertificate(ids[name]));
        expect({ name, status: got.status }).toEqual({ name, status: 200 });
        const own = (by: typeof job) => through('/api/auth/me', withChain(by), bearer(got.body.access_token));
        expect((await own(job)).status).toBe(200);
        expect((await own(other)).status).toBe(401);
        expect(await through('/oauth/token', withChain(other), shown(job), byCertificate(ids[name]))).toMatchObject(
          REFUSED,
        );
        // nginx itself rejects an expired certificate.
        const late = await through('/oauth/token', withChain(expired), shown(job), byCertificate(ids[name]));
        expect([400, 401]).toContain(late.status);
        expect(await through('/oauth/token', undefined, shown(job), byCertificate(ids[name]))).toMatchObject(REFUSED);
      }
      for (const name of refused)
        expect(await through('/oauth/token', withChain(job), beside, byCertificate(ids[name]))).toMatchObject(REFUSED);
      // The proxy removes the chain header if a client sends it.
      expect(await through('/oauth/token', job, beside, byCertificate(ids.chained))).toMatchObject(REFUSED);
    });
  },
);
