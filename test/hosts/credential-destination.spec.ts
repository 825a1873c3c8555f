import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HsmSeal } from '../../src/hsm/hsm-seal.js';
import type { KeyProcessVault } from '../../src/hsm/process/key-process-vault.js';
import { type CollectingSshd, startCollectingSshd } from '../fakes/collecting-sshd.js';
import { openVault } from '../support/hsm.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { canRunSshd, type ClientKey, newClientKey, type Sshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const PASSWORD = 'only-for-the-host-it-was-entered-for';
const ELSEWHERE = '127.33.0.9';
let stage: Stage;
let service: Service;
let apiKey: string;
let vault: KeyProcessVault;
let collector: CollectingSshd;
let names = 0;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
  vault = await openVault(stage.token);
  collector = await startCollectingSshd(ELSEWHERE);
});
afterAll(async () => {
  await collector.close();
  await vault.onApplicationShutdown();
  await stage.close();
});

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(method, path, { key: apiKey, body, headers });
const newHost = async (body: object): Promise<Answer['body']> => {
  const made = await call('POST', '/v1/hosts', { name: `moving-${(names += 1)}`, ...body });
  expect(made).toMatchObject({ status: 201 });
  return made.body;
};
const change = async ({ id }: Answer['body'], body: object): Promise<Answer> => {
  const { version } = (await call('GET', `/v1/hosts/${id}`)).body;
  return call('PATCH', `/v1/hosts/${id}`, body, { 'if-match': `"${version}"` });
};
const test = async ({ id }: Answer['body']) => (await call('POST', `/v1/hosts/${id}/test-connection`)).body;
const seen = async ({ id }: Answer['body']) => (await call('GET', `/v1/hosts/${id}`)).body;
const acceptAll = async ({ id }: Answer['body']) => {
  for (const key of (await call('GET', `/v1/hosts/${id}/host-keys`)).body.items)
    await call('POST', `/v1/hosts/${id}/host-keys/${key.id}/accept`);
};
const byPassword = (user = 'deploy') => ({ credential: { user, password: PASSWORD } });

describe('a host credential', () => {
  it('does not follow its host to another address, whoever accepts the key shown there', async () => {
    const host = await newHost({ address: '127.33.0.1', ...byPassword() });
    const moved = await change(host, { address: ELSEWHERE, port: collector.port });
    expect(moved.body.dropped).toEqual({ credential: true, pinnedKeys: 0, credentialsBehind: 0 });
    expect(moved.body).not.toHaveProperty('credential');
    expect(await test(host)).toMatchObject({ ok: false, code: 'host.no-credential' });
    await acceptAll(host);
    expect(await test(host)).toMatchObject({ ok: false, code: 'host.no-credential' });
    expect(collector.said).toEqual([]);
  });

  it('supplied with a new address is for that address', async () => {
    const host = await newHost({ address: '127.33.0.1', ...byPassword() });
    const moved = await change(host, { address: ELSEWHERE, port: collector.port, ...byPassword('other') });
    expect(moved.body).not.toHaveProperty('dropped');
    expect(moved.body.credential).toEqual({ user: 'other', kind: 'password' });
    await test(host);
    await acceptAll(host);
    await test(host);
    expect(collector.said.splice(0)).toEqual([`password other ${PASSWORD}`]);
  });

  it.each([
    ['port', { port: 2222 }, true],
    ['a jump host', { jumpHostId: 'jump' }, true],
    ['name, owner and labels', { name: 'renamed-1', owner: 'Ann', labels: { a: 'b' } }, false],
    ['the same address in other letters', { address: '2001:DB8:0::0001' }, false],
  ])('is dropped or kept with a different %s', async (_, fields, isDropped) => {
    const jump = await newHost({ address: '192.0.2.40' });
    const host = await newHost({ address: '2001:db8::1', ...byPassword() });
    const order = 'jumpHostId' in fields ? { jumpHostId: jump.id } : fields;
    const changed = await change(host, order);
    expect(changed.status).toBe(200);
    expect(changed.body.dropped?.credential ?? false).toBe(isDropped);
    expect((await seen(host)).credential).toEqual(isDropped ? undefined : { user: 'deploy', kind: 'password' });
    const [row] = await stage.sql<{ kept: boolean }>('SELECT credential IS NOT NULL AS kept FROM host WHERE id = $1', [
      host.id,
    ]);
    expect(row?.kept).toBe(!isDropped);
  });

  it('of a host behind a jump host is dropped when the jump host gets another address, if the change allows it', async () => {
    const first = await newHost({ address: '192.0.2.50', ...byPassword() });
    const second = await newHost({ address: '192.0.2.51', jumpHostId: first.id });
    const behind = await newHost({ address: '10.0.0.5', jumpHostId: second.id, ...byPassword() });
    const beside = await newHost({ address: '10.0.0.6', ...byPassword() });
    const refused = await change(first, { address: ELSEWHERE });
    assertProblem(refused, { status: 409, code: 'host.credentials-behind', pointer: '/dropCredentialsBehind' });
    expect((await seen(first)).address).toBe('192.0.2.50');
    expect((await seen(behind)).credential).toBeDefined();
    expect((await change(first, { owner: 'Ann' })).status).toBe(200);
    const moved = await change(first, { address: ELSEWHERE, dropCredentialsBehind: true, ...byPassword() });
    expect(moved.body.dropped).toEqual({ credential: false, pinnedKeys: 0, credentialsBehind: 1 });
    expect((await seen(behind)).credential).toBeUndefined();
    expect((await seen(beside)).credential).toBeDefined();
    const entries = await stage.sql(
      `SELECT action, detail ->> 'jumpHostId' AS jump FROM audit_entry WHERE target_id = $1 AND action = 'host.credential-dropped'`,
      [behind.id],
    );
    expect(entries).toEqual([{ action: 'host.credential-dropped', jump: first.id }]);
  });

  it.each([
    [
      'address',
      (id: string) => [`UPDATE host SET address = '${ELSEWHERE}', port = ${collector.port} WHERE id = $1`, [id]],
    ],
    [
      'address of its jump host',
      (_: string, jump: string) => [`UPDATE host SET address = '${ELSEWHERE}' WHERE id = $1`, [jump]],
    ],
    ['way', (id: string) => ['UPDATE host SET jump_host_id = NULL WHERE id = $1', [id]]],
  ] as const)('cannot be opened when the database contains a different %s', async (what, statement) => {
    const jump = await newHost({
      address: '127.33.0.2',
      hostKeyPolicy: 'tofu',
      credential: { user: 'hop', password: PASSWORD },
    });
    const way = what === 'address' ? {} : { jumpHostId: jump.id };
    const host = await newHost({ address: ELSEWHERE, port: 1, ...way, ...byPassword() });
    const [text, values] = statement(host.id, jump.id) as [string, string[]];
    await stage.sql(text, values);
    const refused = await test(host);
    expect(refused).toMatchObject({ ok: false, code: 'host.credential-elsewhere' });
    expect(collector.said).toEqual([]);
  });

  it('of another host cannot be opened in its place', async () => {
    const [one, other] = [
      await newHost({ address: ELSEWHERE, ...byPassword() }),
      await newHost({ address: ELSEWHERE, ...byPassword() }),
    ];
    await stage.sql('UPDATE host SET credential = (SELECT credential FROM host WHERE id = $1) WHERE id = $2', [
      one.id,
      other.id,
    ]);
    expect(await test(other)).toMatchObject({ code: 'host.credential-elsewhere' });
  });
});

describe.runIf(canRunSshd())('with a real sshd', () => {
  let sshd: Sshd;
  let key: ClientKey;

  beforeAll(async () => {
    sshd = await startSshd({ users: ['deploy'] });
    key = newClientKey(sshd.directory, 'login', ['-t', 'ed25519', '-a', '1'], 'opens it');
    sshd.authorize('deploy', key.publicKey);
  });
  afterAll(() => sshd.close());

  const at = () => ({ address: sshd.address, port: sshd.port, hostKeyPolicy: 'tofu' });

  it('a credential sealed for the host by the previous version opens, and is bound on first use', async () => {
    const host = await newHost({ ...at(), credential: { user: 'deploy', password: 'x' } });
    const login = { kind: 'private-key', user: 'deploy', privateKey: key.privateKey, passphrase: 'opens it' };
    const sealed = await new HsmSeal(vault).close('host-credential', host.id, Buffer.from(JSON.stringify(login)));
    const store = `UPDATE host SET credential = $2, credential_kind = 'private-key' WHERE id = $1`;
    await stage.sql(store, [host.id, sealed]);
    expect(await test(host)).toMatchObject({ ok: true, user: 'deploy' });
    const rows = await stage.sql<{ credential: Buffer }>('SELECT credential FROM host WHERE id = $1', [host.id]);
    expect(rows[0]?.credential.equals(sealed)).toBe(false);
    await stage.sql(`UPDATE host SET port = port + 1 WHERE id = $1`, [host.id]);
    expect(await test(host)).toMatchObject({ ok: false, code: 'host.credential-elsewhere' });
    await stage.sql(`UPDATE host SET port = port - 1 WHERE id = $1`, [host.id]);
    expect(await test(host)).toMatchObject({ ok: true });
  });

  it('pinned keys must be confirmed again after a change of address', async () => {
    const host = await newHost({
      ...at(),
      credential: { user: 'deploy', privateKey: key.privateKey, passphrase: 'opens it' },
    });
    expect(await test(host)).toMatchObject({ ok: true });
    await acceptAll(host);
    expect((await change(host, { port: 1 })).body.dropped).toEqual({
      credential: true,
      pinnedKeys: 1,
      credentialsBehind: 0,
    });
    const [hostKey] = (await call('GET', `/v1/hosts/${host.id}/host-keys`)).body.items;
    expect(hostKey.state).toBe('tofu-pending');
  });

  it('two hops with a credential each are traversed', async () => {
    const credential = { user: 'deploy', privateKey: key.privateKey, passphrase: 'opens it' };
    const first = await newHost({ ...at(), credential });
    const second = await newHost({ ...at(), jumpHostId: first.id, credential });
    expect(await test(await newHost({ ...at(), jumpHostId: second.id, credential }))).toMatchObject({ ok: true });
  });
});

describe('a private key for a host', () => {
  const made = (credential: object) =>
    call('POST', '/v1/hosts', { name: `key-${(names += 1)}`, address: '192.0.2.60', credential });

  it.each([
    ['not a key', undefined, 'host.private-key-unreadable', '/credential/privateKey'],
    [
      '-----BEGIN DSA PRIVATE KEY-----\nMIIB\n-----END DSA PRIVATE KEY-----',
      undefined,
      'host.private-key-unsupported',
      '/credential/privateKey',
    ],
    [
      'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: aes256-cbc\nComment: x\nPublic-Lines: 0\nPrivate-Lines: 0\nPrivate-MAC: 00',
      undefined,
      'host.passphrase-missing',
      '/credential/passphrase',
    ],
  ])('is rejected with a specific code', async (privateKey, passphrase, code, pointer) => {
    assertProblem(await made({ user: 'x', privateKey, passphrase }), { status: 400, code, pointer });
  });
});
