import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { canRunSshd, type ClientKey, fingerprintOfLine, newClientKey, type Sshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let names = 0;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
});
afterAll(() => stage.close());

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(method, path, { key: apiKey, body, headers });
const newHost = (body: object): Promise<Answer> => call('POST', '/v1/hosts', { name: `host-${(names += 1)}`, ...body });

describe('a host', () => {
  it('can be added, read, listed, updated and deleted', async () => {
    const made = await newHost({ address: 'Web-1.Example.com.', labels: { env: 'prod', tier: 'web' }, owner: 'Ann' });
    expect(made.status).toBe(201);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toMatchObject({
      address: 'web-1.example.com',
      port: 22,
      labels: { env: 'prod', tier: 'web' },
      hostKeyPolicy: 'pinned',
      managementMode: 'inventory-only',
      privilege: 'none',
      reachability: 'unknown',
      version: 1,
    });
    const path = `/v1/hosts/${made.body.id}`;
    const changed = await call('PATCH', path, { port: 2222, owner: null }, { 'if-match': '"1"' });
    expect(changed.body).toMatchObject({ port: 2222, version: 2, labels: { env: 'prod', tier: 'web' } });
    expect(changed.body).not.toHaveProperty('owner');
    expect((await call('GET', path)).body).toEqual(changed.body);
    expect((await call('DELETE', path, undefined, { 'if-match': '"2"' })).status).toBe(204);
    assertProblem(await call('GET', path), { status: 404, code: 'host.missing' });
    const entries = await stage.sql(`SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY id`, [made.body.id]);
    expect(entries).toEqual([{ action: 'host.created' }, { action: 'host.changed' }, { action: 'host.removed' }]);
  });

  it('is not updated by a caller without the latest version', async () => {
    const { body } = await newHost({ address: '192.0.2.7' });
    const path = `/v1/hosts/${body.id}`;
    assertProblem(await call('PATCH', path, { port: 1 }), { status: 428, code: 'request.if-match-missing' });
    assertProblem(await call('PATCH', path, { port: 1 }, { 'if-match': 'three' }), {
      status: 400,
      code: 'request.if-match',
    });
    const both = await Promise.all([2, 3].map((port) => call('PATCH', path, { port }, { 'if-match': '"1"' })));
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412]);
    assertProblem(await call('DELETE', path, undefined, { 'if-match': '"1"' }), { status: 412, code: 'request.stale' });
  });

  it('is created once per Idempotency-Key', async () => {
    const body = { name: 'only-once', address: '192.0.2.8' };
    const twice = await Promise.all([1, 2].map(() => call('POST', '/v1/hosts', body, { 'idempotency-key': 'once' })));
    expect(twice.map(({ status }) => status)).toEqual([201, 201]);
    expect(twice[0]?.body.id).toBe(twice[1]?.body.id);
    assertProblem(await call('POST', '/v1/hosts', body), { status: 409, code: 'host.name-taken', pointer: '/name' });
  });

  it.each([
    ['127.1', 403, 'network.spelling'],
    ['169.254.169.254', 403, 'network.denied'],
    ['::ffff:169.254.169.254', 403, 'network.denied'],
    ['a b', 403, 'network.spelling'],
  ])('is rejected at %s', async (address, status, code) => {
    assertProblem(await newHost({ address }), { status, code });
  });

  it.each([
    [{ labels: { 'not a key': 'x' } }, '/labels'],
    [{ labels: ['x'] }, '/labels'],
    [{ port: 0 }, '/port'],
    [{ colour: 'red' }, '/colour'],
    [{ credential: { user: 'root; id', password: 'x' } }, '/credential/user'],
  ])('is rejected with %j', async (fields, pointer) => {
    assertProblem(await newHost({ address: '192.0.2.9', ...fields }), {
      status: 400,
      code: 'request.invalid',
      pointer,
    });
  });

  it('is found by label, paginated', async () => {
    for (let i = 0; i < 5; i += 1)
      await newHost({ address: '192.0.2.20', labels: { set: 'paged', odd: String(i % 2) } });
    const seen: string[] = [];
    let next = '';
    do {
      const { body } = await call('GET', `/v1/hosts?label=set:paged&limit=2${next}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      next = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (next !== '');
    expect({ all: seen.length, different: new Set(seen).size }).toEqual({ all: 5, different: 5 });
    expect((await call('GET', '/v1/hosts?label=set:paged,odd:1')).body.items).toHaveLength(2);
    expect((await call('GET', '/v1/hosts?label=odd')).body.items).toHaveLength(5);
    expect((await call('GET', '/v1/hosts?label=set:paged&q=HOST-')).body.items).toHaveLength(5);
    assertProblem(await call('GET', '/v1/hosts?label=,:x'), { status: 400, code: 'request.invalid' });
  });

  it('cannot be its own jump host, even indirectly, and a jump host in use cannot be deleted', async () => {
    const [a, b] = [(await newHost({ address: '192.0.2.30' })).body, (await newHost({ address: '192.0.2.31' })).body];
    await call('PATCH', `/v1/hosts/${a.id}`, { jumpHostId: b.id }, { 'if-match': '"1"' });
    for (const [host, jump] of [
      [a, a],
      [b, a],
    ]) {
      const answer = await call(
        'PATCH',
        `/v1/hosts/${host.id}`,
        { jumpHostId: jump.id },
        { 'if-match': `"${host === a ? 2 : 1}"` },
      );
      assertProblem(answer, { status: 422, code: 'host.jump-host', pointer: '/jumpHostId' });
    }
    assertProblem(await call('DELETE', `/v1/hosts/${b.id}`, undefined, { 'if-match': '"1"' }), {
      status: 409,
      code: 'host.in-use',
    });
  });
});

describe.runIf(canRunSshd())('a real sshd', () => {
  let sshd: Sshd;
  let key: ClientKey;

  beforeAll(async () => {
    sshd = await startSshd({ users: ['deploy'], hostKeys: ['ed25519', 'ecdsa'] });
    key = newClientKey(sshd.directory, 'login');
    sshd.authorize('deploy', key.publicKey);
    sshd.authorize('root', key.publicKey);
  });
  afterAll(() => sshd.close());

  const add = async (fields: object = {}, on: Sshd = sshd) =>
    (
      await newHost({
        address: on.address,
        port: on.port,
        credential: { user: 'deploy', privateKey: key.privateKey },
        ...fields,
      })
    ).body;
  const test = async ({ id }: { id: string }) => (await call('POST', `/v1/hosts/${id}/test-connection`)).body;
  const keysOf = async ({ id }: { id: string }) => (await call('GET', `/v1/hosts/${id}/host-keys`)).body.items;

  it('is not logged in to before its key is confirmed', async () => {
    const host = await add();
    const before = sshd.log().length;
    expect(await test(host)).toMatchObject({ ok: false, code: 'host.key-unknown' });
    expect(sshd.log().slice(before)).not.toMatch(/deploy|publickey/);
    const [seen] = await keysOf(host);
    expect(seen).toMatchObject({ state: 'tofu-pending', possession: 'claimed', type: 'ssh-ed25519' });
    expect(seen.fingerprint).toBe(fingerprintOfLine(sshd.hostKey('ed25519')));
    expect((await call('POST', `/v1/hosts/${host.id}/host-keys/${seen.id}/accept`)).body.state).toBe('pinned');
    const reached = await test(host);
    expect(reached).toMatchObject({ ok: true, user: 'deploy', hostKeyFingerprint: seen.fingerprint });
    expect(reached.software).toMatch(/^OpenSSH_/);
    expect(reached.os).toBe(/PRETTY_NAME="(.*)"/.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]);
    expect(await keysOf(host)).toMatchObject([{ state: 'pinned', possession: 'proven' }]);
    expect((await call('GET', `/v1/hosts/${host.id}`)).body).toMatchObject({
      reachability: 'reachable',
      os: reached.os,
    });
  });

  it('uses the pinned key although it has others', async () => {
    const host = await add();
    await call('POST', `/v1/hosts/${host.id}/host-keys`, { publicKey: sshd.hostKey('ecdsa') });
    expect(await test(host)).toMatchObject({ ok: true, hostKeyFingerprint: fingerprintOfLine(sshd.hostKey('ecdsa')) });
  });

  it('is trusted on first use for a key login, never for a password', async () => {
    const byKey = await add({ hostKeyPolicy: 'tofu' });
    expect(await test(byKey)).toMatchObject({ ok: true });
    expect(await keysOf(byKey)).toMatchObject([{ state: 'tofu-pending', possession: 'proven' }]);
    const byPassword = await add({ hostKeyPolicy: 'tofu', credential: { user: 'deploy', password: 'never sent' } });
    expect(await test(byPassword)).toMatchObject({ ok: false, code: 'host.key-unknown' });
  });

  it('with a swapped key is rejected before authentication, and reported once', async () => {
    const other = await startSshd({ users: ['deploy'] });
    try {
      other.authorize('deploy', key.publicKey);
      const host = await add({}, other);
      await call('POST', `/v1/hosts/${host.id}/host-keys`, { publicKey: other.hostKey('ed25519') });
      expect(await test(host)).toMatchObject({ ok: true });
      await other.swapHostKey('ed25519');
      const before = other.log().length;
      expect(await test(host)).toMatchObject({ ok: false, code: 'host.key-changed' });
      expect(await test(host)).toMatchObject({ ok: false, code: 'host.key-changed' });
      expect(other.log().slice(before)).not.toMatch(/deploy|publickey|userauth/i);
      const changed = (await keysOf(host)).find(({ state }: { state: string }) => state === 'changed');
      expect(changed.fingerprint).toBe(fingerprintOfLine(other.hostKey('ed25519')));
      const entries = await stage.sql(
        `SELECT detail ->> 'fingerprint' AS fingerprint FROM audit_entry WHERE action = 'host-key.changed' AND target_id = $1`,
        [host.id],
      );
      expect(entries).toEqual([{ fingerprint: changed.fingerprint }]);
      await call('POST', `/v1/hosts/${host.id}/host-keys/${changed.id}/accept`);
      expect(await test(host)).toMatchObject({ ok: true });
      expect((await keysOf(host)).map(({ state }: { state: string }) => state).sort()).toEqual(['pinned', 'rejected']);
    } finally {
      await other.close();
    }
  });

  it('is reached through another host', async () => {
    const jump = await add({ hostKeyPolicy: 'tofu' });
    const behind = await add({
      hostKeyPolicy: 'tofu',
      jumpHostId: jump.id,
      privilege: 'root',
      credential: { user: 'root', privateKey: key.privateKey },
    });
    const before = sshd.log().length;
    expect(await test(behind)).toMatchObject({ ok: true, user: 'root', becomesRoot: true });
    expect(sshd.log().slice(before)).toMatch(
      /Accepted publickey for deploy from 127[\s\S]*Accepted publickey for root/,
    );
  });

  it('refuses an unknown login key, which is not reported as unreachable', async () => {
    const stranger = newClientKey(sshd.directory, 'stranger', ['-t', 'ecdsa'], 'opens it');
    const credential = { user: 'deploy', privateKey: stranger.privateKey, passphrase: 'opens it' };
    const host = await add({ hostKeyPolicy: 'tofu', credential });
    expect(host.credential).toEqual({ user: 'deploy', kind: 'private-key', fingerprint: stranger.fingerprint });
    expect(await test(host)).toMatchObject({ ok: false, code: 'host.login-refused' });
    const away = await add({ hostKeyPolicy: 'tofu', port: 1 });
    expect(await test(away)).toMatchObject({ ok: false, code: 'host.unreachable' });
    assertProblem(await newHost({ address: sshd.address, credential: { ...credential, passphrase: 'wrong' } }), {
      status: 400,
      code: 'host.passphrase-wrong',
      pointer: '/credential/passphrase',
    });
  });

  it('is not connected to if it belongs to this service', async () => {
    const { port } = new URL(stage.settings['SVC_REDIS_URL'] ?? '');
    const host = await add({ address: '127.0.0.1', port: Number(port), hostKeyPolicy: 'tofu' });
    expect(await test(host)).toMatchObject({ ok: false, code: 'network.own-service' });
  });

  it('leaves no secret in a log, a response or the database', async () => {
    const secret = key.privateKey.split('\n')[2] ?? '';
    const host = await add();
    expect(JSON.stringify([host, (await call('GET', '/v1/hosts')).body])).not.toContain(secret);
    expect(service.log()).not.toContain(secret);
    const rows = await stage.sql<{ text: string }>(
      `SELECT (SELECT string_agg(encode(credential, 'escape'), '') FROM host) || (SELECT string_agg(detail::text, '') FROM audit_entry) AS text`,
    );
    expect(rows[0]?.text).not.toContain(secret);
  });
});

/** Cases from bug reports about other SSH clients: mscdex/ssh2#621, libssh2#627, curl#10143, paramiko#2035. */
describe.runIf(canRunSshd())('host algorithms', () => {
  const OLD_KEX = 'diffie-hellman-group-exchange-sha1,diffie-hellman-group1-sha1';
  const directory = mkdtempSync(join(tmpdir(), 'host-algorithms-'));
  const login = newClientKey(directory, 'login');
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Adds a host with a pinned RSA key and tests the login. */
  async function hostWith(lines: string[]) {
    const sshd = await startSshd({ hostKeys: ['rsa'], config: lines });
    onTestFinished(() => sshd.close());
    sshd.authorize('deploy', login.publicKey);
    const { body } = await newHost({
      address: sshd.address,
      port: sshd.port,
      credential: { user: 'deploy', privateKey: login.privateKey },
    });
    await call('POST', `/v1/hosts/${body.id}/host-keys`, { publicKey: sshd.hostKey('rsa') });
    const test = async () => (await call('POST', `/v1/hosts/${body.id}/test-connection`)).body;
    return { id: body.id as string, test };
  }

  it('with only SHA-2 signatures work repeatedly', async () => {
    const { test } = await hostWith(['HostKeyAlgorithms rsa-sha2-512,rsa-sha2-256']);
    expect([await test(), await test()]).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it.each([
    ['key exchange', `KexAlgorithms ${OLD_KEX}`, OLD_KEX.replaceAll(',', ', ')],
    ['host key', 'HostKeyAlgorithms ssh-rsa', 'ssh-rsa'],
    ['cipher', 'Ciphers aes128-cbc', 'aes128-cbc'],
  ])('that are obsolete (%s) are named, and allowed for this host only', async (subject, line, offer) => {
    const { id, test } = await hostWith([line]);
    expect(await test()).toMatchObject({
      code: 'host.no-algorithm',
      detail: expect.stringMatching(new RegExp(`host.s ${subject} algorithms: ${offer}\\. .*legacyAlgorithms`)),
    });
    const allowed = await call('PATCH', `/v1/hosts/${id}`, { legacyAlgorithms: true }, { 'if-match': '"1"' });
    expect(allowed.body).toMatchObject({ legacyAlgorithms: true });
    expect(await test()).toMatchObject({ ok: true });
  });

  it('with a server-chosen key exchange group are not offered, because one packet would block the process', async () => {
    const offer = 'diffie-hellman-group-exchange-sha256';
    const { id, test } = await hostWith([`KexAlgorithms ${offer}`]);
    const refusal = { code: 'host.no-algorithm', detail: expect.stringContaining(offer) };
    expect(await test()).toMatchObject(refusal);
    await call('PATCH', `/v1/hosts/${id}`, { legacyAlgorithms: true }, { 'if-match': '"1"' });
    expect(await test()).toMatchObject(refusal);
  });

  it('accepted for logins are named as the reason for a refused key', async () => {
    const { test } = await hostWith(['PubkeyAcceptedAlgorithms ssh-rsa']);
    expect(await test()).toMatchObject({
      code: 'host.login-refused',
      detail: expect.stringMatching(/of type ssh-ed25519.*PubkeyAcceptedAlgorithms/),
    });
  });
});
