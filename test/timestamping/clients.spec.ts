import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { ask, Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { has } from '../support/peers.js';
import { portableExecutable } from '../support/portable-executable.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { TIMESTAMP_QUERY, TimestampClient } from '../support/timestamps.js';

const LOOPBACK = '127.0.0.0/8,::1';
let stage: Stage;
/** Service that always requires a credential. */
let closed: Service;
/** Service that requires no credential from clients on this machine. */
let open: Service;
let apiKey: string;
let authority: Authority;
let client: TimestampClient;
/** API key that may only request timestamps. */
let narrow: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  closed = await stage.start({ role: 'api' });
  open = await stage.start({ role: 'api', settings: { SVC_TSA_ALLOW: LOOPBACK, SVC_TSA_OPEN_PER_MINUTE: '200' } });
  authority = new Authority();
  await certifiedKey(closed, apiKey, authority, { name: 'tsa', type: 'rsa-2048', purpose: 'timestamping' });
  client = new TimestampClient(open, apiKey, authority);
  ({ key: narrow } = await newApiKey(closed, apiKey, ['timestamps:issue']));
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const at = (name: string) => join(authority.directory, name);
const query = () => client.query(authority.keep('stamped.bin', 'to be stamped'));

async function post(service: Service, path: string, headers: Record<string, string>, body: Buffer) {
  const answer = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: new Uint8Array(body) });
  return { status: answer.status, reply: Buffer.from(await answer.arrayBuffer()) };
}

/** Requests a timestamp without a credential. */
const stamp = (body: Buffer) => post(open, '/tsa', { 'content-type': TIMESTAMP_QUERY }, body);

describe('a timestamp client that cannot send a credential', () => {
  const ways: [string, () => string][] = [
    ['whose address is on the list', () => `${open.url}/tsa`],
    ['whose address holds a key', () => `${closed.url}/tsa/${narrow}`],
  ];

  it.skipIf(!has('jarsigner')).each(ways)('is served: jarsigner -tsa, %s', (_, address) => {
    const directory = authority.directory;
    for (const file of ['once.p12', 'app.jar', 'signed.jar']) rmSync(at(file), { force: true });
    authority.keep('x.txt', 'x');
    const key = ['-genkeypair', '-alias', 'once', '-keyalg', 'EC', '-groupname', 'secp256r1', '-dname', 'CN=once'];
    execFileSync('keytool', [...key, '-keystore', 'once.p12', '-storepass', 'changeit'], {
      cwd: directory,
      stdio: 'pipe',
    });
    execFileSync('jar', ['cf', 'app.jar', 'x.txt'], { cwd: directory });
    const store = ['-keystore', 'once.p12', '-storepass', 'changeit'];
    const made = ask('jarsigner', [...store, '-tsa', address(), '-signedjar', 'signed.jar', 'app.jar', 'once'], {
      cwd: directory,
    });
    expect(made).toMatchObject({ ok: true, text: expect.stringContaining('jar signed') });
    const shown = ask('jarsigner', ['-verify', '-verbose', '-certs', 'signed.jar'], { cwd: directory });
    expect(shown.text).toMatch(/Timestamped by "CN=tsa/);
  });

  it.skipIf(!has('osslsigncode')).each(ways)('is served: osslsigncode -ts, %s', (_, address) => {
    const [key, certificate] = [at('own.key'), at('own.pem')];
    const self = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
      '-subj',
      '/CN=own',
    ];
    execFileSync('openssl', [...self, '-days', '9', '-addext', 'extendedKeyUsage=codeSigning'], { stdio: 'pipe' });
    const [input, output] = [authority.keep('app.exe', portableExecutable('ts')), at('stamped.exe')];
    rmSync(output, { force: true });
    const sign = [
      'sign',
      '-certs',
      certificate,
      '-key',
      key,
      '-h',
      'sha256',
      '-ts',
      address(),
      '-in',
      input,
      '-out',
      output,
    ];
    expect(ask('osslsigncode', sign)).toMatchObject({ ok: true });
    const trust = ['-CAfile', certificate, '-TSA-CAfile', authority.root];
    expect(ask('osslsigncode', ['verify', ...trust, '-in', output]).text).toMatch(
      /Timestamp Server Signature verification: ok/,
    );
  });

  it('is audited as anonymous with its source address', async () => {
    expect((await stamp(query())).status).toBe(200);
    const [last] = await stage.sql(
      `SELECT actor_kind, actor_name, source FROM audit_entry WHERE action = 'timestamp.issued' ORDER BY id DESC LIMIT 1`,
    );
    expect(last).toEqual({ actor_kind: 'anonymous', actor_name: '127.0.0.1', source: '127.0.0.1' });
    expect((await post(closed, `/tsa/${narrow}`, { 'content-type': TIMESTAMP_QUERY }, query())).status).toBe(200);
    const [named] = await stage.sql(
      `SELECT actor_kind FROM audit_entry WHERE action = 'timestamp.issued' ORDER BY id DESC LIMIT 1`,
    );
    expect(named).toEqual({ actor_kind: 'api-key' });
  });

  it('is authenticated if it does send a credential', async () => {
    const wrong = {
      'content-type': TIMESTAMP_QUERY,
      authorization: `Basic ${Buffer.from('any:wrong').toString('base64')}`,
    };
    expect((await post(open, '/tsa', wrong, query())).status).toBe(401);
  });

  it('can do nothing else, and nothing at all if no address is listed', async () => {
    expect((await post(closed, '/tsa', { 'content-type': TIMESTAMP_QUERY }, query())).status).toBe(401);
    assertProblem(await open.call('GET', '/api/v1/signing-keys'), { status: 401, code: 'auth.missing' });
    assertProblem(await open.call('GET', '/api/auth/me'), { status: 401, code: 'auth.missing' });
  });

  it('cannot choose its address: X-Forwarded-For is used from a trusted proxy only', async () => {
    const settings = { SVC_TSA_ALLOW: '192.0.2.7' };
    const headers = { 'content-type': TIMESTAMP_QUERY, 'x-forwarded-for': '192.0.2.7' };
    const direct = await stage.start({ role: 'api', settings });
    expect((await post(direct, '/tsa', headers, query())).status).toBe(401);
    const behind = await stage.start({ role: 'api', settings: { ...settings, SVC_TRUST_PROXY: '127.0.0.1' } });
    expect((await post(behind, '/tsa', headers, query())).status).toBe(200);
    expect((await post(behind, '/tsa', { ...headers, 'x-forwarded-for': '192.0.2.8' }, query())).status).toBe(401);
  });

  it('is rate-limited', async () => {
    const slow = await stage.start({
      role: 'api',
      settings: { SVC_TSA_ALLOW: LOOPBACK, SVC_TSA_OPEN_PER_MINUTE: '3' },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 9; i += 1)
      statuses.push((await post(slow, '/tsa', { 'content-type': TIMESTAMP_QUERY }, query())).status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(3);
    expect(statuses[0]).toBe(200);
    const named = await post(
      slow,
      '/tsa',
      { 'content-type': TIMESTAMP_QUERY, authorization: `Bearer ${apiKey}` },
      query(),
    );
    expect(named.status).toBe(200);
  });
});

describe('an API key in the timestamp URL', () => {
  const by = (key: string) =>
    closed.call('POST', `/tsa/${key}`, { body: query(), headers: { 'content-type': TIMESTAMP_QUERY } });

  it('can do nothing but issue timestamps', async () => {
    assertProblem(await by(apiKey), { status: 403, code: 'timestamp.wide-key' });
    const { key } = await newApiKey(closed, apiKey, ['timestamps:issue', 'sign:digest']);
    assertProblem(await by(key), { status: 403, code: 'timestamp.wide-key' });
    const { key: other } = await newApiKey(closed, apiKey, ['sign:digest']);
    assertProblem(await by(other), { status: 403, code: 'insufficient_scope' });
  });

  it('is rejected when revoked, or with one character changed', async () => {
    const { id, key } = await newApiKey(closed, apiKey, ['timestamps:issue']);
    expect((await by(key)).status).toBe(200);
    expect((await by(`${key.slice(0, -1)}!`)).status).toBe(401);
    expect((await closed.call('DELETE', `/api/settings/api-keys/${id}`, { key: apiKey })).status).toBe(204);
    expect((await by(key)).status).toBe(401);
  });
});

describe('HTTP variations of timestamp clients', () => {
  it.each([
    ['a parameter', { 'content-type': `${TIMESTAMP_QUERY}; charset=binary` }],
    ['another case', { 'content-type': 'Application/Timestamp-Query' }],
    ['bytes of no type', { 'content-type': 'application/octet-stream' }],
    ['no type', {}],
    ['what curl --data-binary says by itself', { 'content-type': 'application/x-www-form-urlencoded' }],
  ])('include the media type: %s', async (_, headers) => {
    const { status, reply } = await post(open, '/tsa', headers, query());
    expect(status).toBe(200);
    expect(client.text(reply)).toMatch(/Status: Granted\./);
  });

  it('exclude another media type, naming the supported one', async () => {
    const answer = await open.call('POST', '/tsa', { body: 'x', headers: { 'content-type': 'text/plain' } });
    assertProblem(answer, { status: 415, code: 'request.media-type' });
    expect(answer.body.detail).toContain(TIMESTAMP_QUERY);
  });

  it('exclude GET, which is referred to POST', async () => {
    const answer = await open.call('GET', '/tsa');
    assertProblem(answer, { status: 405, code: 'route.method' });
    expect(answer.headers.get('allow')).toBe('POST');
    expect((await fetch(`${open.url}/tsa`, { method: 'HEAD' })).status).toBe(405);
  });

  it('include Expect: 100-continue and chunked bodies', async () => {
    const file = authority.keep('expect.tsq', query());
    const out = at('expect.tsr');
    const headers = [
      '-H',
      `Content-Type: ${TIMESTAMP_QUERY}`,
      '-H',
      'Expect: 100-continue',
      '-H',
      'Transfer-Encoding: chunked',
    ];
    execFileSync('curl', ['-sS', '-o', out, ...headers, '--data-binary', `@${file}`, `${open.url}/tsa`]);
    expect(client.text(readFileSync(out))).toMatch(/Status: Granted\./);
  });

  it('include a redundant slash', async () => {
    expect((await post(open, '//tsa/', { 'content-type': TIMESTAMP_QUERY }, query())).status).toBe(200);
  });

  it('include HTTP/1.0 without a host', async () => {
    const body = query();
    const { port } = new URL(open.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`POST /tsa HTTP/1.0\r\nContent-Type: ${TIMESTAMP_QUERY}\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    expect(Buffer.concat(parts).toString('latin1')).toMatch(/^HTTP\/1\.[01] 200 /);
  });
});
