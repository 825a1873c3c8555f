import { randomUUID } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectsIn } from '../support/hsm.js';
import { has } from '../support/peers.js';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { canRunSshd, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const HOUR = 3600 * 1000;
const CA_FILE = '/root/user_ca.pub';
const KRL_FILE = '/root/revoked_keys';

describe.runIf(canRunSshd())('SSH CAs in the HSM', () => {
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let at: ManagedHost;
  let first: { id: string; publicKey: string };

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
    first = await field.ask('POST', '/v1/ssh-ca', { name: 'people', kind: 'user' });
    at = await field.addHost({ config: [`TrustedUserCAKeys ${CA_FILE}`, `RevokedKeys ${KRL_FILE}`] });
    await trust();
    // sshd refuses every key if the revocation list is missing, so the test provides the first list.
    writeFileSync(join(at.sshd.home('root'), 'revoked_keys'), await list());
    expect(await push()).toMatchObject([{ hostId: at.id, done: true }]);
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  /** Installs the trusted keys published by the service on the host. */
  async function trust(): Promise<void> {
    const { body } = await service.call('GET', '/v1/ssh-ca/trusted-user-ca-keys');
    writeFileSync(join(at.sshd.home('root'), 'user_ca.pub'), body);
  }
  const list = async () => Buffer.from(await (await fetch(`${service.url}/v1/ssh-ca/${first.id}/krl`)).arrayBuffer());
  const push = async (id = first.id) =>
    (await field.ask('POST', `/v1/ssh-ca/${id}/krl/push`, { hostIds: [at.id], path: KRL_FILE })).items;
  let names = 0;

  /** Creates a key with a certificate in a file next to the key, where ssh finds the certificate. */
  async function certified(order: Record<string, unknown> = {}, authority = first.id) {
    const key = newClientKey(field.directory, `certified-${(names += 1)}`);
    const issued = await field.ask('POST', `/v1/ssh-ca/${authority}/certificates`, {
      publicKey: key.publicKey,
      keyId: `ann ${names}`,
      principals: ['deploy'],
      validAfter: new Date(Date.now() - HOUR).toISOString(),
      validBefore: new Date(Date.now() + HOUR).toISOString(),
      ...order,
    });
    writeFileSync(`${key.file}-cert.pub`, `${issued.certificate}\n`);
    return { ...key, ...issued };
  }
  const shown = (file: string) => execFileSync('ssh-keygen', ['-L', '-f', `${file}-cert.pub`], { encoding: 'utf8' });

  it('issue a user certificate with the requested content, and its holder can log in', async () => {
    const made = await certified({
      sourceAddress: '127.0.0.0/8',
      forceCommand: 'true',
      extensions: ['permit-pty', 'permit-agent-forwarding'],
    });
    const text = shown(made.file);
    expect(text).toContain('Type: ssh-ed25519-cert-v01@openssh.com user certificate');
    expect(text).toContain(`Public key: ED25519-CERT ${made.fingerprint}`);
    expect(text).toMatch(/Signing CA: ECDSA SHA256:\S+ \(using ecdsa-sha2-nistp256\)/);
    expect(text).toContain(`Serial: ${made.serial}`);
    expect(text).toContain(`Key ID: "${made.keyId}"`);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'Principals: deploy Critical Options: force-command true source-address 127.0.0.0/8 Extensions: permit-agent-forwarding permit-pty',
    );
    expect(await logIn(at, made.file)).toBe('accepted');
    expect(at.sshd.log()).toContain(`ID ${made.keyId} (serial ${made.serial}) CA ECDSA`);
  });

  it.each([
    ['ec-p384', 'ECDSA', 'ecdsa-sha2-nistp384'],
    ['rsa-3072', 'RSA', 'rsa-sha2-512'],
    ['rsa-4096', 'RSA', 'rsa-sha2-512'],
  ])('are accepted by sshd with a key of type %s too', async (type, family, algorithm) => {
    const { id } = await field.ask('POST', '/v1/ssh-ca', { name: `people-${type}`, kind: 'user', type });
    const made = await certified({}, id);
    expect(await logIn(at, made.file)).toBe('denied');
    await trust();
    expect(shown(made.file)).toMatch(new RegExp(`Signing CA: ${family} SHA256:\\S+ \\(using ${algorithm}\\)`));
    expect(await logIn(at, made.file)).toBe('accepted');
  });

  it.each([
    ['for somebody else', { principals: ['ann'] }],
    ['over', { validBefore: new Date(Date.now() - HOUR / 2).toISOString() }],
    ['not yet', { validAfter: new Date(Date.now() + HOUR / 2).toISOString() }],
    ['from elsewhere', { sourceAddress: '192.0.2.0/24' }],
  ])('grant no login with a certificate that is %s', async (_name, order) => {
    expect(await logIn(at, (await certified(order)).file)).toBe('denied');
  });

  it.each(['serial', 'keyId', 'publicKey'] as const)('revoke by %s once the list is pushed', async (kind) => {
    const revoked = await certified();
    const other = await certified();
    expect(await logIn(at, revoked.file)).toBe('accepted');
    await field.ask('POST', `/v1/ssh-ca/${first.id}/revocations`, { kind, value: revoked[kind] });
    expect(await push()).toMatchObject([{ hostId: at.id, done: true }]);
    const file = join(field.directory, 'list.krl');
    writeFileSync(file, await list());
    const asked = (of: string) => spawnSync('ssh-keygen', ['-Q', '-f', file, `${of}-cert.pub`]).status;
    expect([asked(revoked.file), asked(other.file)]).toEqual([1, 0]);
    expect([await logIn(at, revoked.file), await logIn(at, other.file)]).toEqual(['denied', 'accepted']);
    const { items } = await field.ask('GET', `/v1/ssh-ca/${first.id}/certificates?limit=2`);
    expect(items).toMatchObject([
      { id: other.id, certificate: other.certificate, revoked: false },
      { id: revoked.id, certificate: revoked.certificate, revoked: true },
    ]);
    const { items: taken } = await field.ask('GET', `/v1/ssh-ca/${first.id}/revocations?limit=1`);
    expect(taken[0].kind).toBe(kind);
    expect(revoked[kind]).toContain(taken[0].value);
  });

  it('reject a certificate where a key is to be revoked, and accept the key file', async () => {
    const { certificate, publicKey } = await certified();
    const revoke = (value: string) =>
      field.call('POST', `/v1/ssh-ca/${first.id}/revocations`, { kind: 'publicKey', value });
    expect(await revoke(certificate)).toMatchObject({ status: 400, body: { code: 'ssh-key.unreadable' } });
    expect((await revoke(`${publicKey.trim()}\r\n`)).status).toBe(204);
  });

  it('keep the most complete list when pushes overtake each other', async () => {
    const revoked = [await certified(), await certified(), await certified(), await certified()];
    const pushed = revoked.map(async ({ serial }) => {
      await field.ask('POST', `/v1/ssh-ca/${first.id}/revocations`, { kind: 'serial', value: serial });
      return push();
    });
    expect((await Promise.all(pushed)).flat().filter(({ done }) => !done)).toEqual([]);
    for (const { file } of revoked) expect(await logIn(at, file)).toBe('denied');
  });

  it.skipIf(!has('pkcs11-tool'))(
    'are created once per Idempotency-Key, and leave nothing in the HSM on failure',
    async () => {
      const keys = () => ['privkey', 'pubkey'].map((kind) => objectsIn(stage.token, '--type', kind).length);
      const order = { name: `made-once-${randomUUID()}`, kind: 'user' };
      const make = (key: string) =>
        field.call('POST', '/v1/ssh-ca', order, { 'idempotency-key': `${key}-${order.name}` });
      const [privateKeys = 0, publicKeys = 0] = keys();
      const atOnce = await Promise.all(Array.from({ length: 4 }, () => make('one')));
      const again = await make('one');
      expect([...atOnce, again].filter(({ body }) => body.id === undefined)).toEqual([]);
      expect(new Set([...atOnce, again].map(({ body }) => body.id)).size).toBe(1);
      expect((await make('another')).body.code).toBe('ssh-ca.name-taken');
      expect(keys()).toEqual([privateKeys + 1, publicKeys + 1]);
    },
  );

  it('sign a certificate recorded by a process that died, when the call is repeated', async () => {
    const order = {
      publicKey: newClientKey(field.directory, 'repeated').publicKey,
      keyId: 'repeated',
      principals: ['deploy'],
      validAfter: new Date(Date.now() - HOUR).toISOString(),
      validBefore: new Date(Date.now() + HOUR).toISOString(),
    };
    const issue = () =>
      field.call('POST', `/v1/ssh-ca/${first.id}/certificates`, order, { 'idempotency-key': 'repeated' });
    const { body: issued } = await issue();
    expect((await issue()).body).toEqual(issued);
    await stage.sql('UPDATE ssh_certificate SET certificate = NULL WHERE id = $1', [issued.id]);
    const { body: finished } = await issue();
    expect(finished).toMatchObject({
      id: issued.id,
      serial: issued.serial,
      certificate: expect.stringMatching(/^ssh-/),
    });
    const { items } = await field.ask('GET', `/v1/ssh-ca/${first.id}/certificates?limit=200`);
    expect(items.filter(({ keyId }: { keyId: string }) => keyId === 'repeated')).toHaveLength(1);
  });

  it('with a revoked CA key invalidate every certificate of that CA, and none of another', async () => {
    const other = await field.ask('POST', '/v1/ssh-ca', { name: 'people-compromised', kind: 'user' });
    await trust();
    const [theirs, ours] = [await certified({}, other.id), await certified()];
    expect([await logIn(at, theirs.file), await logIn(at, ours.file)]).toEqual(['accepted', 'accepted']);
    const revocation = { kind: 'publicKey', value: other.publicKey };
    expect((await field.call('POST', `/v1/ssh-ca/${first.id}/revocations`, revocation)).status).toBe(204);
    expect(await push()).toMatchObject([{ done: true }]);
    expect([await logIn(at, theirs.file), await logIn(at, ours.file)]).toEqual(['denied', 'accepted']);
    const later = await certified({}, other.id);
    expect(await logIn(at, later.file)).toBe('denied');
  });

  it('can be replaced by another CA without a gap', async () => {
    const old = await certified();
    const second = await field.ask('POST', '/v1/ssh-ca', { name: 'people-2', kind: 'user' });
    await trust();
    const revoked = await certified();
    await field.ask('POST', `/v1/ssh-ca/${first.id}/revocations`, { kind: 'serial', value: revoked.serial });
    const retire = (state: string, id = first.id) => field.call('POST', `/v1/ssh-ca/${id}/retire`, { state });
    for (const again of [1, 2]) expect([again, (await retire('RETIRING')).status]).toEqual([again, 200]);
    const made = await certified({}, second.id);
    // sshd reads a single list, so the second authority's list must still contain what the first authority revoked.
    expect(await push(second.id)).toMatchObject([{ hostId: at.id, done: true }]);
    const files = [old.file, made.file, revoked.file];
    expect(await Promise.all(files.map((file) => logIn(at, file)))).toEqual(['accepted', 'accepted', 'denied']);
    const refused = await field.call('POST', `/v1/ssh-ca/${first.id}/certificates`, {
      publicKey: made.publicKey,
      keyId: 'late',
      principals: ['deploy'],
      validAfter: new Date().toISOString(),
      validBefore: new Date(Date.now() + HOUR).toISOString(),
    });
    expect(refused).toMatchObject({ status: 409, body: { code: 'ssh-ca.inactive' } });
    expect((await retire('RETIRED')).body.state).toBe('RETIRED');
    expect((await retire('RETIRING')).body.code).toBe('ssh-ca.inactive');
    expect((await retire('RETIRED', at.id)).body.code).toBe('ssh-ca.missing');
    await trust();
    expect([await logIn(at, old.file), await logIn(at, made.file)]).toEqual(['denied', 'accepted']);
  });

  it('issue a host certificate that clients accept', async () => {
    const { id } = await field.ask('POST', '/v1/ssh-ca', { name: 'hosts', kind: 'host' });
    const order = {
      publicKey: at.sshd.hostKey('ed25519'),
      keyId: 'host-1',
      principals: [at.sshd.address],
      validAfter: new Date(Date.now() - HOUR).toISOString(),
      validBefore: new Date(Date.now() + HOUR).toISOString(),
    };
    const { certificate } = await field.ask('POST', `/v1/ssh-ca/${id}/certificates`, order);
    writeFileSync(join(at.sshd.directory, 'host_ed25519-cert.pub'), `${certificate}\n`);
    await at.sshd.stop();
    const config = join(at.sshd.directory, 'sshd_config');
    execFileSync('sed', ['-i', `1i HostCertificate ${at.sshd.directory}/host_ed25519-cert.pub`, config]);
    await at.sshd.start();
    const known = join(field.directory, 'known_hosts');
    writeFileSync(known, (await service.call('GET', '/v1/ssh-ca/known-hosts')).body);
    const key = newClientKey(field.directory, 'visitor');
    at.sshd.authorize('deploy', key.publicKey);
    const options = [
      'StrictHostKeyChecking=yes',
      `UserKnownHostsFile=${known}`,
      'BatchMode=yes',
      'GlobalKnownHostsFile=/dev/null',
    ];
    const args = [
      ...options.flatMap((option) => ['-o', option]),
      '-p',
      String(at.sshd.port),
      `deploy@${at.sshd.address}`,
      'true',
    ];
    expect(spawnSync('ssh', ['-F', 'none', '-i', key.file, ...args], { encoding: 'utf8' })).toMatchObject({
      status: 0,
    });

    const policy = await field.call('GET', `/v1/hosts/${at.id}`);
    const match = { 'if-match': policy.headers.get('etag') ?? '' };
    expect((await field.call('PATCH', `/v1/hosts/${at.id}`, { hostKeyPolicy: 'ca' }, match)).status).toBe(200);
    const tried = async () => (await field.ask('POST', `/v1/hosts/${at.id}/test-connection`)).code ?? 'ok';
    const enter = async (line: string) => {
      const { status, body } = await field.call('POST', `/v1/hosts/${at.id}/host-keys`, { publicKey: line });
      return status === 201 ? 'kept' : `${status} ${body.code} ${body.errors?.[0]?.detail}`;
    };
    // The previous pin no longer applies, and the authority that signed the certificate is not trusted yet.
    expect([await tried(), await enter(certificate)]).toEqual([
      'host.key-unknown',
      expect.stringContaining('422 host-key.certificate is signed by SHA256:'),
    ]);
    const [, publicKey] = /@cert-authority \* (\S+ \S+)/.exec(readFileSync(known, 'utf8')) ?? [];
    const authority = await field.ask('POST', '/v1/host-authorities', { name: 'hosts', publicKey });
    const other = async (change: object) =>
      (await field.ask('POST', `/v1/ssh-ca/${id}/certificates`, { ...order, ...change })).certificate;
    expect(await enter(await other({ principals: ['elsewhere.example'] }))).toContain(
      'is for elsewhere.example, not for',
    );
    expect(await enter(await other({ validBefore: new Date(Date.now() - 1000).toISOString() }))).toContain(
      'is valid from',
    );
    const broken = certificate
      .split(' ')
      .map((part: string, i: number) => (i === 1 ? `${part.slice(0, 80)}AAAA${part.slice(84)}` : part));
    expect(await enter(broken.join(' '))).toContain('400 host-key.unreadable');
    expect([await enter(certificate), await tried()]).toEqual(['kept', 'ok']);
    expect((await field.call('DELETE', `/v1/host-authorities/${authority.id}`)).status).toBe(204);
    expect(await tried()).toBe('host.key-unknown');
  });

  it.each([
    ['user', []],
    ['user', ['']],
    ['user', ['deploy', '*']],
    ['user', ['dep*']],
    ['host', ['*']],
    ['host', ['web.example', '*.*']],
  ])('certify nothing for everybody: a %s certificate for %j is rejected', async (kind, principals) => {
    const { id } = await field.ask('POST', '/v1/ssh-ca', { name: `all-${(names += 1)}`, kind });
    const [validAfter, validBefore] = [-HOUR, HOUR].map((by) => new Date(Date.now() + by).toISOString());
    const { publicKey } = newClientKey(field.directory, `all-${names}`);
    const order = { publicKey, keyId: 'all', principals, validAfter, validBefore };
    const { status, body } = await field.call('POST', `/v1/ssh-ca/${id}/certificates`, order);
    expect({ status, code: body.code, pointer: body.errors?.[0]?.pointer }).toEqual({
      status: 400,
      code: 'request.invalid',
      pointer: expect.stringMatching(/^\/principals/),
    });
  });
});
