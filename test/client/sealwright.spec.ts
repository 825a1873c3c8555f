import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApprover, newGuardedKey } from '../approvals/approvers.js';
import { makeClient } from '../auth/oauth-calls.js';
import { register } from '../auth/people.js';
import { newApiKey } from '../support/access.js';
import { ask } from '../support/authority.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import { digestOf, publishedKey, sign, until } from '../support/signing.js';
import { type EndedProgram, sealwright as run } from './program.js';

let certified: CertifiedStage;
let home: string;
let file: string;

beforeAll(async () => {
  certified = await openCertifiedStage(['ec-p256']);
  home = mkdtempSync(join(tmpdir(), 'sealwright-client-'));
  file = join(home, 'app-1.2.0.tar.gz');
  writeFileSync(file, 'a file that was released');
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await certified.close();
});

interface Start {
  readonly input?: string;
  /** Credential, by default the administrator's API key; '' uses the stored credential. */
  readonly token?: string;
  /** Receives stderr while the program runs. */
  readonly hear?: (err: string) => void;
}

function sealwright(args: string[], { token = certified.apiKey, ...options }: Start = {}): Promise<EndedProgram> {
  const access: Record<string, string> = token === '' ? {} : { SEALWRIGHT_TOKEN: token };
  return run(args, { ...options, env: { HOME: home, SEALWRIGHT_URL: certified.service.url, ...access } });
}

const CREDENTIALS = '.config/sealwright/credentials.json';

describe('sealwright sign and verify', () => {
  it('write and verify a detached signature that openssl accepts', async () => {
    expect(await sealwright(['sign', file, '--key', 'ec-p256'])).toEqual({ code: 0, out: `${file}.sig\n`, err: '' });
    const { publicKey } = await publishedKey(certified.service, certified.apiKey, 'ec-p256');
    const key = certified.authority.keep('client-key.pem', publicKey);
    const check = ['dgst', '-sha256', '-verify', key, '-signature', `${file}.sig`, file];
    expect(ask('openssl', check)).toMatchObject({ ok: true });
    const verified = await sealwright(['verify', file, '--key', 'ec-p256']);
    expect(verified).toMatchObject({
      code: 0,
      out: expect.stringContaining('ok  signature: made by version 1 of key "ec-p256"'),
    });
    expect(verified.out).toMatch(/\nvalid\n$/);
  });

  it('do not write a signature through an existing symbolic link', async () => {
    const [linked, elsewhere] = [join(home, 'linked.bin'), join(home, 'elsewhere')];
    writeFileSync(linked, 'content');
    writeFileSync(elsewhere, 'kept');
    symlinkSync(elsewhere, `${linked}.sig`);
    const refused = await sealwright(['sign', linked, '--key', 'ec-p256']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('is a symbolic link') });
    expect(readFileSync(elsewhere, 'utf8')).toBe('kept');
    // A symbolic link named by the caller is followed.
    expect((await sealwright(['sign', linked, '--key', 'ec-p256', '--out', `${linked}.sig`])).code).toBe(0);
    expect(readFileSync(elsewhere, 'utf8')).not.toBe('kept');
  });

  it.each([
    ['cms', '.p7s'],
    ['jws', '.jws'],
    ['sigstore-bundle', '.sigstore.json'],
  ])('--format %s writes %s, and verification fails for a modified file', async (format, extension) => {
    const copy = join(home, `${format}.bin`);
    writeFileSync(copy, 'content');
    const signed = await sealwright(['sign', copy, '-k', 'ec-p256', '-f', format, '-o', 'json']);
    expect(signed.code).toBe(0);
    expect(JSON.parse(signed.out)).toMatchObject({ status: 'SIGNED', files: [`${copy}${extension}`] });
    expect((await sealwright(['verify', copy])).code).toBe(0);
    writeFileSync(copy, 'contenT');
    const wrong = await sealwright(['verify', copy, '-k', 'ec-p256', '-o', 'json']);
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.out)).toMatchObject({ valid: false, checks: [{ check: 'signature', ok: false }] });
  });

  it('verify all signatures next to a file, or the one named by --format', async () => {
    const copy = join(home, 'several.bin');
    writeFileSync(copy, 'content');
    for (const format of ['raw', 'cms']) await sealwright(['sign', copy, '-k', 'ec-p256', '-f', format]);
    const both = await sealwright(['verify', copy, '-k', 'ec-p256']);
    expect(both).toMatchObject({ code: 0, out: expect.stringContaining(`valid: ${copy}.sig\n`) });
    expect(both.out).toContain(`valid: ${copy}.p7s\n`);
    writeFileSync(`${copy}.sig`, readFileSync(`${file}.sig`));
    const one = await sealwright(['verify', copy, '-k', 'ec-p256']);
    expect(one).toMatchObject({ code: 1, out: expect.stringContaining(`NOT VALID: ${copy}.sig\n`) });
    expect((await sealwright(['verify', copy, '-f', 'cms'])).code).toBe(0);
    writeFileSync(`${copy}.sig`, '-----BEGIN SSH SIGNATURE-----\n');
    expect((await sealwright(['verify', copy])).err).toContain('ssh-keygen -Y verify');
  });

  it('send only the name and the hash of the file', async () => {
    await sealwright(['sign', file, '--key', 'ec-p256', '--reference', 'build-7']);
    const { body } = await certified.service.call('GET', '/api/v1/sign/requests?limit=1', { key: certified.apiKey });
    expect(body.items[0]).toMatchObject({
      digest: digestOf('a file that was released'),
      metadata: { filename: 'app-1.2.0.tar.gz' },
      reference: 'build-7',
    });
  });

  it('exit with 5 while approval is pending, and with 0 once --wait sees it', async () => {
    const place = { stage: certified.stage, service: certified.service, apiKey: certified.apiKey };
    const approver = await newApprover(place);
    const { key } = await newGuardedKey(place, [{ members: [approver], threshold: 1 }]);
    const pending = await sealwright(['sign', file, '--key', key.name]);
    expect(pending).toMatchObject({ code: 5, err: expect.stringContaining('PENDING_APPROVAL') });
    const id = pending.out.trim();
    expect((await sealwright(['request', id])).code).toBe(5);
    const waiting = sealwright(['request', id, '--wait', '30', '-o', 'json']);
    const { body } = await certified.service.call('GET', `/api/v1/sign/requests/${id}`, { key: certified.apiKey });
    const vote = await certified.service.call('POST', `/api/v1/approvals/${body.approvalId}/approve`, {
      key: approver.accessToken,
      body: {},
    });
    expect(vote.status).toBe(200);
    const ended = await waiting;
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.out)).toMatchObject({ requestId: id, status: 'SIGNED' });
    expect(await sealwright(['sign', file, '--request', id])).toMatchObject({ code: 0, out: `${file}.sig\n` });
    expect((await sealwright(['verify', file])).code).toBe(0);
    const other = join(home, 'other.bin');
    writeFileSync(other, 'another file');
    expect(await sealwright(['sign', other, '--request', id])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is for a different file'),
    });
    expect(existsSync(`${other}.sig`)).toBe(false);
  });
});

describe('sealwright login', () => {
  it('stores an API key from standard input for this user only', async () => {
    const { key } = await newApiKey(certified.service, certified.apiKey, ['signing-keys:read']);
    expect((await sealwright(['login', '--api-key'], { input: `${key}\n`, token: '' })).code).toBe(0);
    expect(statSync(join(home, CREDENTIALS)).mode & 0o777).toBe(0o600);
    const listed = await sealwright(['keys'], { token: '' });
    expect(listed.out).toMatch(
      /^ec-p256 +ec-p256 +signing +v1 +ACTIVE +[0-9a-f-]{36} +certificate until \d{4}-\d\d-\d\d$/m,
    );
    const some = await sealwright(['keys', '--name', 'ec-*', '--type', 'ec-p256', '--state', 'ACTIVE'], { token: '' });
    expect(
      some.out
        .trim()
        .split('\n')
        .every((line) => line.startsWith('ec-')),
    ).toBe(true);
    expect((await sealwright(['keys', '--name', 'ec-'], { token: '' })).out.trim()).toBe('');
    const unknown = await sealwright(['keys', '--state', 'SLEEPING'], { token: '' });
    expect(unknown).toMatchObject({ out: '', err: expect.stringContaining('/state') });
    expect(unknown.code).not.toBe(0);
    const denied = await sealwright(['sign', file], { token: '' });
    expect(denied).toMatchObject({ code: 4, err: expect.stringContaining('sign:digest') });
    expect(`${listed.out}${denied.err}`).not.toContain(key);
  });

  it('rejects a file that others may read', async () => {
    chmodSync(join(home, CREDENTIALS), 0o644);
    expect(await sealwright(['keys'], { token: '' })).toMatchObject({ code: 3, err: expect.stringContaining('600') });
  });

  it('does not store an API key that the service rejects', async () => {
    rmSync(join(home, CREDENTIALS));
    expect((await sealwright(['login', '--api-key'], { input: 'sw_wrong', token: '' })).code).toBe(3);
    expect((await sealwright(['keys'], { token: '' })).code).toBe(3);
    expect((await sealwright(['keys'], { token: 'sw_wrong' })).code).toBe(3);
  });

  it.each([404, 503])('does not store an API key when the service returns %i', async (status) => {
    const other = createServer((_, res) => res.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, err } = await sealwright(['login', '--api-key', '--url', url], { input: 'sw_some', token: '' });
    other.close();
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`HTTP status ${status}`) });
    expect(existsSync(join(home, CREDENTIALS))).toBe(false);
  });

  it('works in a browser: the person enters the code and confirms; the token is renewed on expiry', async () => {
    const client = await makeClient(certified.service, certified.apiKey, ['signing-keys:read'], 'public');
    const person = await register(certified.service);
    let code: string | undefined;
    const going = sealwright(['login', '--client', client.client_id], {
      token: '',
      hear: (err) => (code = / enter ([A-Z]{4}-[A-Z]{4})/.exec(err)?.[1]),
    });
    const typed = await until('a code', 30, async () => code);
    const approve = `/api/auth/device/${typed}/approve`;
    expect((await certified.service.call('POST', approve, { key: person.accessToken })).status).toBe(204);
    expect((await going).code).toBe(0);
    expect(statSync(join(home, CREDENTIALS)).mode & 0o777).toBe(0o600);
    expect((await sealwright(['keys'], { token: '' })).code).toBe(0);
    const kept = JSON.parse(readFileSync(join(home, CREDENTIALS), 'utf8'));
    writeFileSync(join(home, CREDENTIALS), JSON.stringify({ ...kept, token: 'run.out.long-ago' }), { mode: 0o600 });
    expect(kept.refreshToken).toEqual(expect.any(String));
    expect((await sealwright(['keys'], { token: '' })).code).toBe(0);
  });

  it('renews an expired token in only one of several concurrent programs', async () => {
    const place = join(home, CREDENTIALS);
    const kept = JSON.parse(readFileSync(place, 'utf8'));
    writeFileSync(place, JSON.stringify({ ...kept, token: 'run.out.long-ago' }), { mode: 0o600 });
    const together = await Promise.all(Array.from({ length: 6 }, () => sealwright(['keys'], { token: '' })));
    expect(together.map(({ code, err }) => [code, err])).toEqual(together.map(() => [0, '']));
    expect((await sealwright(['keys'], { token: '' })).code).toBe(0);
  });
});

describe('the exit code of sealwright', () => {
  it.each([
    [['frobnicate'], 2],
    [['sign'], 2],
    [['sign', 'a', 'b'], 2],
    [['sign', 'a', 'b', '--key', 'release'], 1],
    [['sign', 'a', '--colour', 'red'], 2],
    [['sign', 'a', '--format', 'authenticode'], 2],
    [['keys', '-o', 'xml'], 2],
    [['sign', '/nowhere/file'], 1],
    [['verify', '/nowhere/file'], 1],
    [['help'], 0],
    [['sign', '--help'], 0],
    [['request', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'], 1],
    [['keys', '--url', 'http://127.0.0.1:9'], 1],
  ])('for %j is %i', async (args, code) => {
    const ended = await sealwright(args);
    expect(ended.code).toBe(code);
    expect(code === 0 ? ended.out : ended.err).toMatch(/Usage:|sealwright/);
  });

  it('is 4 if the key does not allow the use, and 1 if the request failed', async () => {
    const order = { name: 'client-only-jws', type: 'ec-p256', constraints: { formats: ['jws'] } };
    await certified.service.call('POST', '/api/v1/signing-keys', { key: certified.apiKey, body: order });
    const ended = await sealwright(['sign', file, '--key', order.name]);
    expect(ended).toMatchObject({ code: 4, err: expect.stringContaining('key-policy.format') });
    const { body } = await sign(certified.service, {
      key: certified.apiKey,
      body: { digest: digestOf('x'), key: 'ec-p256', async: true },
    });
    await until('the end', 30, async () => (await sealwright(['request', body.requestId])).code === 0);
  });
});

describe('a client credential', () => {
  it.each([
    ['sign', import.meta.filename],
    ['keys'],
    ['login', '--api-key'],
    ['login', '--client', 'x'],
    ['sensor', '/etc/hostname'],
  ])('is not sent over plain HTTP to another machine: %s %s', async (...args) => {
    const env = { HOME: home, SEALWRIGHT_URL: 'http://sealwright.invalid', SEALWRIGHT_TOKEN: certified.apiKey };
    const { code, out, err } = await run([...args], { env, input: 'sw_key' });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('SEALWRIGHT_ALLOW_HTTP=yes');
    expect(err).not.toContain(certified.apiKey);
  });
});
