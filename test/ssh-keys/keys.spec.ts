import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { foundKey, handOverKeys } from '../support/ssh-key-sightings.js';
import { openStage, type Stage } from '../support/stage.js';

interface MadeKey {
  readonly line: string;
  readonly fingerprint: string;
}

const directory = mkdtempSync(join(tmpdir(), 'ssh-keys-'));
let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await stage.close();
});

/** Generates a key pair with ssh-keygen and returns its description. */
function keygen(type = 'ed25519', bits = '256'): MadeKey {
  const file = join(directory, randomUUID());
  execFileSync('ssh-keygen', ['-q', '-t', type, '-b', bits, '-N', '', '-C', 'ann@laptop', '-f', file]);
  const told = execFileSync('ssh-keygen', ['-l', '-f', `${file}.pub`], { encoding: 'utf8' });
  return { line: readFileSync(`${file}.pub`, 'utf8').trim(), fingerprint: told.split(' ')[1] ?? '' };
}

const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  service.call(method, path, { key: apiKey, body, headers });
const byFingerprint = async (fingerprint: string) =>
  (await call('GET', `/v1/keys?fingerprint=${encodeURIComponent(fingerprint)}`)).body.items[0];
const rulesOf = (key: { findings: { rule: string }[] }) => key.findings.map(({ rule }) => rule).sort();

describe('a manually entered key', () => {
  it('is found by the fingerprint from ssh-keygen, and repeating the call changes nothing', async () => {
    const { line, fingerprint } = keygen('rsa', '2048');
    const headers = { 'idempotency-key': randomUUID() };
    const body = { publicKey: line, owner: 'payments', custody: 'human' };
    const entered = await call('POST', '/v1/keys', body, headers);
    expect(entered).toMatchObject({
      status: 201,
      body: { fingerprint, type: 'ssh-rsa', bits: 2048, owner: 'payments' },
    });
    expect((await call('POST', '/v1/keys', body, headers)).body.id).toBe(entered.body.id);
    expect(await call('POST', '/v1/keys', { ...body, owner: 'x' }, headers)).toMatchObject({
      status: 422,
      body: { code: 'idempotency.other-body' },
    });
    expect(await byFingerprint(fingerprint)).toMatchObject({ id: entered.body.id, comment: 'ann@laptop' });
    expect(rulesOf(entered.body)).toEqual(['weak']);
  });

  it.each<[string, string, RegExp?, string?]>([
    ['no key', 'hello'],
    ['a type that is not that of the blob', keygen().line.replace('ssh-ed25519', 'ssh-rsa')],
    ['a cut blob', keygen().line.slice(0, 40)],
    ['a blob with a blank in it', keygen().line.replace('AAAAC3', 'AAA AC3')],
    ['a key of RFC 4716', `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "ann"\n${keygen().line.split(' ')[1]}\n---- END SSH2 PUBLIC KEY ----\n`, /ssh-keygen -i/, 'request.invalid'], // prettier-ignore
  ])('is rejected when it is %s', async (_name, publicKey, advice = /./, code = 'ssh-key.unreadable') => {
    expect(await call('POST', '/v1/keys', { publicKey })).toMatchObject({
      status: 400,
      body: { code, errors: [{ pointer: '/publicKey', detail: expect.stringMatching(advice) }] },
    });
  });

  it('is assigned an owner by a caller with the latest version', async () => {
    const { body: key } = await call('POST', '/v1/keys', { publicKey: keygen().line });
    const { headers } = await call('GET', `/v1/keys/${key.id}`);
    const tag = { 'if-match': headers.get('etag') ?? '' };
    expect((await call('PATCH', `/v1/keys/${key.id}`, { owner: 'ops' })).status).toBe(428);
    expect((await call('PATCH', `/v1/keys/${key.id}`, { owner: 'ops' }, tag)).body.owner).toBe('ops');
    expect((await call('PATCH', `/v1/keys/${key.id}`, { owner: 'web' }, tag)).status).toBe(412);
    expect((await call('PATCH', `/v1/keys/${randomUUID()}`, { owner: 'web' }, tag)).status).toBe(404);
  });
});

describe('keys found by a scan', () => {
  const hosts = { web: randomUUID(), build: randomUUID() };
  const keys = { deploy: keygen(), ann: keygen(), old: keygen('rsa', '1024'), lone: keygen() };
  const read = ['/home/ann/.ssh/authorized_keys', '/root/.ssh/authorized_keys', '/home/ci/.ssh/id_ed25519'];
  const found = (hostId: string, at: string, list: ReturnType<typeof foundKey>[]) => ({
    hostId,
    scanId: randomUUID(),
    seenAt: new Date(at).toISOString(),
    readPaths: read,
    keys: list,
    uses: [],
  });
  const privateKey = (account: string, passphrase: boolean | null) =>
    foundKey({
      kind: 'private-key',
      fingerprint: keys.deploy.fingerprint,
      account,
      path: `/home/${account}/.ssh/id_ed25519`,
      line: null,
      passphrase,
    });
  const root = { account: 'root', uid: 0, path: '/root/.ssh/authorized_keys' };

  beforeAll(async () => {
    await handOverKeys(stage, {
      ...found(hosts.web, '2026-11-20T10:00:00Z', [
        foundKey({ fingerprint: keys.deploy.fingerprint, publicKey: keys.deploy.line, ...root, options: 'restrict' }),
        foundKey({
          fingerprint: keys.ann.fingerprint,
          publicKey: keys.ann.line,
          account: 'ann',
          options: 'from="10.0.0.0/8"',
        }),
        foundKey({ fingerprint: keys.ann.fingerprint, publicKey: keys.ann.line, account: 'ann', line: 4 }),
        foundKey({
          fingerprint: keys.old.fingerprint,
          type: 'ssh-rsa',
          bits: 1024,
          ...root,
          modifiedAt: '2019-01-01T00:00:00Z',
        }),
        foundKey({
          fingerprint: keys.lone.fingerprint,
          account: 'ann',
          line: 5,
          options: 'cert-authority,command="true"',
        }),
      ]),
      uses: [
        {
          fingerprint: keys.deploy.fingerprint,
          account: 'root',
          at: '2026-11-19T08:00:00Z',
          source: '192.0.2.8',
          evidence: 'the later line',
        },
        {
          fingerprint: keys.deploy.fingerprint,
          account: 'root',
          at: '2026-11-18T08:00:00Z',
          source: '192.0.2.7',
          evidence: 'the earlier line',
        },
      ],
    });
    await handOverKeys(
      stage,
      found(hosts.build, '2026-11-20T10:00:00Z', [privateKey('ci', false), privateKey('bob', true)]),
    );
  });

  it('have exactly the findings of the rules', async () => {
    const rules = await Promise.all(
      Object.values(keys).map(async ({ fingerprint }) => rulesOf(await byFingerprint(fingerprint))),
    );
    expect(rules).toEqual([
      ['no-passphrase', 'root', 'shared'],
      ['orphan', 'unrestricted'],
      ['old', 'orphan', 'root', 'unrestricted', 'weak'],
      ['cert-authority', 'orphan'],
    ]);
    const weak = (await call('GET', '/v1/keys?finding=shared')).body.items;
    expect(weak.map((key: { fingerprint: string }) => key.fingerprint)).toEqual([keys.deploy.fingerprint]);
  });

  it('show who can log in where, with the log line of the last login', async () => {
    const { id } = await byFingerprint(keys.deploy.fingerprint);
    const { body } = await call('GET', `/v1/keys/${id}/access`);
    expect(body.holders.map(({ account, passphrase }: never) => [account, passphrase]).sort()).toEqual([
      ['bob', true],
      ['ci', false],
    ]);
    expect(body.opens).toMatchObject([
      {
        hostId: hosts.web,
        account: 'root',
        lines: [{ line: 1, options: 'restrict', path: root.path }],
        lastLogin: { at: '2026-11-19T08:00:00.000Z', source: '192.0.2.8', evidence: 'the later line' },
      },
    ]);
    const { body: ann } = await call('GET', `/v1/keys/${(await byFingerprint(keys.ann.fingerprint)).id}/locations`);
    expect(ann.items.map(({ line }: { line: number }) => line).sort()).toEqual([1, 4]);
  });

  it('are removed once their file is read without them, but not when another file is read', async () => {
    await handOverKeys(stage, {
      ...found(hosts.web, '2026-11-20T11:00:00Z', [
        foundKey({ fingerprint: keys.ann.fingerprint, account: 'ann', line: 2, options: 'from="10.0.0.0/8"' }),
      ]),
      readPaths: ['/home/ann/.ssh/authorized_keys'],
    });
    const gone = async (name: keyof typeof keys) => {
      const { body } = await call('GET', `/v1/keys/${(await byFingerprint(keys[name].fingerprint)).id}/locations`);
      return body.items
        .map(({ line, goneAt }: { line: number; goneAt?: string }) => [line, goneAt !== undefined])
        .sort();
    };
    expect(await gone('ann')).toEqual([
      [2, false],
      [4, true],
    ]);
    expect(await gone('lone')).toEqual([[5, true]]);
    expect(await gone('old')).toEqual([[1, false]]);
    expect(rulesOf(await byFingerprint(keys.ann.fingerprint))).toEqual(['orphan']);
    const onWeb = (await call('GET', `/v1/keys?hostId=${hosts.web}&limit=1`)).body;
    expect([onWeb.items.length, onWeb.nextCursor === null]).toEqual([1, false]);
  });

  it('lose the orphan finding when they get an owner', async () => {
    await call('POST', '/v1/keys', { publicKey: keys.lone.line, owner: 'ann' });
    expect(rulesOf(await byFingerprint(keys.lone.fingerprint))).toEqual([]);
  });
});

it('findings that do not match the rules are detected by reconciliation, and repaired', async () => {
  const weak = keygen('rsa', '2048');
  const { body } = await call('POST', '/v1/keys', { publicKey: weak.line, owner: 'ann' });
  // Marks the daily run as done, because the daily run would otherwise repair the findings before the command does.
  await stage.sql(
    `INSERT INTO job_lease (name, lease_until, last_success_at) VALUES ('reconcile-findings', now(), now())
     ON CONFLICT (name) DO UPDATE SET last_success_at = now()`,
  );
  await stage.sql(`DELETE FROM ssh_key_finding WHERE key_id = $1`, [body.id]);
  await stage.sql(`UPDATE ssh_key SET known_since = now() - interval '30 years' WHERE id = $1`, [body.id]);
  expect(rulesOf(await byFingerprint(weak.fingerprint))).toEqual([]);
  const cli = join(import.meta.dirname, '../../dist/cli.js');
  const env = { ...process.env, ...stage.settings };
  const { status, stdout } = spawnSync(process.execPath, [cli, 'reconcile-counts'], { env, encoding: 'utf8' });
  expect(stdout).toContain('repaired wrong findings of 1 SSH keys');
  expect(status).toBe(1);
  expect(rulesOf(await byFingerprint(weak.fingerprint))).toEqual(['old', 'weak']);
});

it('keys are visible to authorized readers, and can be entered by callers who may change hosts', async () => {
  const { key: reader } = await newApiKey(service, apiKey, ['keys:read']);
  expect((await service.call('GET', '/v1/keys', { key: reader })).status).toBe(200);
  const refused = await service.call('POST', '/v1/keys', { key: reader, body: { publicKey: keygen().line } });
  expect(refused).toMatchObject({ status: 403, body: { scope: 'hosts:write' } });
  expect((await service.call('GET', '/v1/keys?fingerprint=MD5:00', { key: reader })).status).toBe(400);
});
