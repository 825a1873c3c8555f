import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const directory = mkdtempSync(join(tmpdir(), 'host-import-'));
let stage: Stage;
let service: Service;
let apiKey: string;
const keys = ['a', 'b', 'c'].map((name) => newClientKey(directory, name).publicKey.split(' ').slice(0, 2).join(' '));

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await stage.close();
});

const call = (method: string, path: string, body?: unknown) => service.call(method, path, { key: apiKey, body });
const take = (format: string, text: string, more: object = {}): Promise<Answer> =>
  call('POST', '/v1/hosts/import', { format, text, ...more });
const host = async (name: string) => (await call('GET', `/v1/hosts?q=${name}`)).body.items[0];
const keysOf = async (name: string) => {
  const { body } = await call('GET', `/v1/hosts/${(await host(name)).id}/host-keys`);
  return body.items.map(({ type, state }: Answer['body']) => `${type} ${state}`);
};
const count = async () => Number((await stage.sql<{ n: string }>('SELECT count(*) AS n FROM host'))[0]?.n);

describe('a host import', () => {
  const csv = [
    'name,address,port,label.env,labels,owner,hostKey,jumpHost',
    'jump-1,192.0.2.1,,prod,,Platform,,',
    `web-1,192.0.2.10,2222,prod,"tier=web;dc=a","Team ""A"", web",${keys[0]},jump-1`,
    'web-2,192.0.2.11,99999,prod,,,,',
    'web-3,127.0.0.1,,,,,,',
    'web-4,192.0.2.13,,,,,not a key,',
    'web-1,192.0.2.14,,,,,,',
    'web-5,192.0.2.15,,,,,,nobody',
    'web-6,192.0.2.16',
  ].join('\r\n');

  it('of CSV reports on every line, and stores nothing while one is rejected', async () => {
    const { body } = await take('csv', csv);
    expect(body.stored).toBe(false);
    expect(body.counts).toEqual({ created: 2, refused: 6 });
    expect(body.items.map(({ pointer, errors }: Answer['body']) => errors[0]?.pointer ?? pointer)).toEqual([
      'line 2',
      'line 3',
      'line 4/port',
      'line 5',
      'line 6/hostKey',
      'line 7/name',
      'line 8/jumpHost',
      'line 9',
    ]);
    expect(await count()).toBe(0);
    expect((await take('csv', csv, { onRefusal: 'skip', dryRun: true })).body.stored).toBe(false);
    expect(await count()).toBe(0);
    const { body: stored } = await take('csv', csv, { onRefusal: 'skip', pin: true });
    expect(stored).toMatchObject({ stored: true, counts: { created: 2, refused: 6 } });
    expect(await host('web-1')).toMatchObject({
      id: stored.items[1].hostId,
      port: 2222,
      labels: { env: 'prod', tier: 'web', dc: 'a' },
      owner: 'Team "A", web',
      jumpHostId: (await host('jump-1')).id,
      managementMode: 'inventory-only',
    });
    expect(await keysOf('web-1')).toEqual(['ssh-ed25519 pinned']);
    expect((await take('csv', csv, { onRefusal: 'skip' })).body.counts).toEqual({ unchanged: 2, refused: 6 });
  });

  it('of known_hosts creates a host for each name, and matches hashed names', async () => {
    const file = join(directory, 'known_hosts');
    writeFileSync(file, `[192.0.2.10]:2222 ${keys[1]}\nother.example ${keys[1]}\n`);
    execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' });
    const lines = [
      '# mine',
      `db-1.example.com,192.0.2.30 ${keys[0]} comment`,
      `db-1.example.com ${keys[1]}`,
      `@revoked db-1.example.com ${keys[2]}`,
      `[db-2.example.com]:2200 ${keys[0]}`,
      `*.example.com ${keys[0]}`,
      `@cert-authority *.example.com ${keys[0]}`,
      ...readFileSync(file, 'utf8').trim().split('\n'),
      'nonsense',
    ];
    const { body } = await take('known-hosts', lines.join('\n'), { onRefusal: 'skip' });
    expect(body.items.map(({ pointer, outcome }: Answer['body']) => `${pointer} ${outcome}`)).toEqual([
      'line 2 created',
      'line 5 created',
      'line 6 refused',
      'line 7 refused',
      'line 8 keys-added',
      'line 9 refused',
      'line 10 refused',
    ]);
    expect(body.items[4].name).toBe('web-1');
    expect((await keysOf('db-1')).sort()).toEqual([
      'ssh-ed25519 rejected',
      'ssh-ed25519 tofu-pending',
      'ssh-ed25519 tofu-pending',
    ]);
    expect(await host('db-2')).toMatchObject({ name: 'db-2.example.com-2200', port: 2200 });
    const many = Array.from({ length: 500 }, (_, i) => `m${i}.example.net ${keys[0]}`).join('\n');
    expect((await take('known-hosts', many)).body.counts).toEqual({ created: 500 });
  });

  it.each([
    [
      'ansible-ini',
      [
        'lone.example.org ansible_host=192.0.2.40 # alone',
        '[web]',
        'app[01:02].example.org ansible_port=2201 ansible_password="s3cret#1"',
        '[db]',
        'db-[a:b].example.org',
        'here ansible_connection=local',
        '[prod:children]',
        'web',
        '[prod:vars]',
        'ansible_user=deploy',
        '[web:vars]',
        'ansible_port=2299',
      ].join('\n'),
      'line 6',
    ],
    [
      'ansible-yaml',
      [
        'all:',
        '  hosts:',
        '    lone.example.org: {ansible_host: 192.0.2.40}',
        '  children:',
        '    prod:',
        '      vars: {ansible_user: deploy}',
        '      children:',
        '        web:',
        '          vars: {ansible_port: 2201}',
        '          hosts:',
        '            app01.example.org: {ansible_password: !vault "x"}',
        '            app02.example.org:',
        '    db:',
        '      hosts: {db-a.example.org: , db-b.example.org: , here: {ansible_connection: local}}',
      ].join('\n'),
      '/all/children/db/hosts/here',
    ],
  ])('of an inventory (%s) imports hosts with their groups', async (format, text, refused) => {
    await stage.sql('DELETE FROM host_key');
    await stage.sql('DELETE FROM host');
    const { body } = await take(format, text, { onRefusal: 'skip' });
    expect(body.counts).toEqual({ created: 5, refused: 1 });
    const bad = body.items.find(({ outcome }: Answer['body']) => outcome === 'refused');
    expect(bad.errors).toEqual([{ pointer: refused, detail: 'uses the connection local instead of SSH' }]);
    expect(await host('lone')).toMatchObject({ address: '192.0.2.40', port: 22, labels: {} });
    expect(await host('app01')).toMatchObject({ port: 2201, labels: { 'ansible/web': 'yes', 'ansible/prod': 'yes' } });
    expect(await host('db-b')).toMatchObject({ address: 'db-b.example.org', labels: { 'ansible/db': 'yes' } });
    const app = body.items.find(({ name }: Answer['body']) => name === 'app01.example.org');
    expect(app.ignored.sort()).toEqual(['ansible_password (a secret)', 'ansible_user']);
  });

  it('is rejected if the file has another format', async () => {
    for (const [format, text] of [
      ['csv', 'host;ip\na;b'],
      ['ansible-yaml', 'a: [b'],
      ['ansible-yaml', '- a'],
    ] as const)
      assertProblem(await take(format, text), { status: 422, code: 'host-import.format', pointer: '/text' });
    assertProblem(await take('xml', '<a/>'), { status: 400, code: 'request.invalid', pointer: '/format' });
  });
});

describe('import credentials', () => {
  const deploy = newClientKey(directory, 'deploy');
  const credentials = [
    { name: 'default', user: 'deploy', privateKey: deploy.privateKey },
    { name: 'legacy', user: 'root', password: 'a long password' },
  ];

  it('for CSV are selected by name or else the default, with the login name of the row', async () => {
    const text = [
      'name,address,user,credential',
      'cred-1,192.0.2.61,,',
      'cred-2,192.0.2.62,ops,default',
      'cred-3,192.0.2.63,,legacy',
    ];
    const { body } = await take('csv', text.join('\n'), { credentials });
    expect(body.counts).toEqual({ created: 3 });
    const shown = await Promise.all([1, 2, 3].map(async (i) => (await host(`cred-${i}`)).credential));
    expect(shown).toEqual([
      { user: 'deploy', kind: 'private-key', fingerprint: deploy.fingerprint },
      { user: 'ops', kind: 'private-key', fingerprint: deploy.fingerprint },
      { user: 'root', kind: 'password' },
    ]);
    expect(JSON.stringify([body, await stage.sql('SELECT detail FROM audit_entry')])).not.toContain('a long password');
  });

  it('for ssh_config use its User; an unknown credential name is a fault of the row', async () => {
    await take('ssh-config', 'Host cred-4\n  HostName 192.0.2.64\n  User admin\n', { credentials });
    expect((await host('cred-4')).credential).toMatchObject({ user: 'admin', kind: 'private-key' });
    const { body } = await take('csv', 'name,address,credential\ncred-5,192.0.2.65,nobody\n', { credentials });
    expect(body.items[0]).toMatchObject({ outcome: 'refused', errors: [{ pointer: 'line 2/credential' }] });
    const odd = await take('csv', 'name,address,user\ncred-6,192.0.2.66,a b\n', { credentials });
    expect(odd.body.items[0]).toMatchObject({ outcome: 'refused', errors: [{ pointer: 'line 2/user' }] });
  });

  it('are assigned to many hosts by label, and sealed for each host', async () => {
    const labels = { set: 'many' };
    for (const i of [1, 2, 3]) await call('POST', '/v1/hosts', { name: `many-${i}`, address: `192.0.2.7${i}`, labels });
    const order = {
      label: 'set:many',
      change: { managementMode: 'managed', credential: { user: 'rotate', privateKey: deploy.privateKey } },
    };
    const trial = await call('POST', '/v1/hosts/change', { ...order, dryRun: true });
    expect(trial.body).toMatchObject({
      stored: false,
      items: [{ name: 'many-1' }, { name: 'many-2' }, { name: 'many-3' }],
    });
    expect((await host('many-1')).managementMode).toBe('inventory-only');
    expect((await call('POST', '/v1/hosts/change', order)).body.items).toHaveLength(3);
    for (const i of [1, 2, 3])
      expect(await host(`many-${i}`)).toMatchObject({
        managementMode: 'managed',
        version: 2,
        credential: { user: 'rotate' },
      });
    const sealed = await stage.sql<{ credential: Buffer }>(`SELECT credential FROM host WHERE name LIKE 'many-%'`);
    expect(new Set(sealed.map(({ credential }) => credential.toString('hex'))).size).toBe(3);
    assertProblem(
      await call('POST', '/v1/hosts/change', { label: 'set:many', change: { credential: { user: 'x' } } }),
      {
        status: 400,
        code: 'host.credential',
      },
    );
  });
});

it('a changed key in a trusted known_hosts file replaces the pinned one', async () => {
  const { body } = await call('POST', '/v1/hosts', { name: 'moved-key', address: '192.0.2.80' });
  await call('POST', `/v1/hosts/${body.id}/host-keys`, { publicKey: keys[0] });
  await take('known-hosts', `192.0.2.80 ${keys[1]}`);
  await stage.sql(`UPDATE host_key SET state = 'changed' WHERE host_id = $1 AND state = 'tofu-pending'`, [body.id]);
  await take('known-hosts', `192.0.2.80 ${keys[1]}`, { pin: true });
  expect((await keysOf('moved-key')).sort()).toEqual(['ssh-ed25519 pinned', 'ssh-ed25519 rejected']);
});
