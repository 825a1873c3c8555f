import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { newApprover } from '../approvals/approvers.js';
import { assertProblem } from '../support/refused-calls.js';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('a host required by a rotation', () => {
  let stage: Stage;
  let service: Service;
  let apiKey: string;
  let field: SshFleet;

  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  /** Adds a host with a key for `deploy`. */
  async function hostWithKey() {
    const at = await field.addHost({ users: ['deploy'] });
    const key = await field.newKey();
    at.sshd.authorize('deploy', key.publicKey);
    return { at, key };
  }

  const remove = async ({ id }: ManagedHost) => {
    const { headers } = await field.call('GET', `/v1/hosts/${id}`);
    return field.call('DELETE', `/v1/hosts/${id}`, undefined, { 'if-match': headers.get('etag') ?? '' });
  };
  const assertKept = async (at: ManagedHost, rotation: string) => {
    const answer = await remove(at);
    assertProblem(answer, { status: 409, code: 'host.rotating' });
    expect(answer.body.instance).toBe(`/v1/rotations/${rotation}`);
  };

  /** Blocks writers of a table until the returned function is called. */
  async function hold(table: string): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: stage.databaseUrl });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    const letGo = () => client.end();
    onTestFinished(letGo);
    return letGo;
  }
  /**
   * Waits until a session that locks a host is blocked. Sessions that do not lock a host, such as a session that reports an earlier rotation, may also be
   * blocked.
   */
  const someoneWaitsWithHost = () =>
    until('somebody to wait who has a host', 10, async () => {
      const waiting = await stage.sql(
        `SELECT 1 FROM pg_locks l JOIN pg_locks host USING (pid)
         WHERE NOT l.granted AND host.granted AND host.relation = 'host'::regclass AND host.mode = 'RowShareLock'`,
      );
      return waiting.length > 0;
    });

  it('cannot be deleted until the rotation has ended', async () => {
    const { at, key } = await hostWithKey();
    const id = await field.rotate(key.id, [at], { overlapSeconds: 3600 });
    await until('the overlap', 60, async () => (await field.targets(id))[0]?.state === 'OVERLAP');
    await assertKept(at, id);
    await stage.sql(
      `UPDATE ssh_rotation_target SET due_at = now(), old_ends_at = now(), overlap_ends_at = now() WHERE rotation_id = $1`,
      [id],
    );
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
    expect(await remove(at)).toMatchObject({ status: 204 });
  });

  it('cannot be deleted while the private key is to be generated there', async () => {
    const { at, key } = await hostWithKey();
    const holder = await field.addHost({ users: ['deploy'] });
    await at.sshd.stop();
    const id = await field.rotate(key.id, [at], {
      custody: 'host',
      holder: { hostId: holder.id, account: 'deploy', path: '/home/deploy/.ssh/id_ed25519' },
    });
    await assertKept(holder, id);
    await at.sshd.start();
    await field.call('POST', `/v1/rotations/${id}/roll-back`);
    await field.ended(id);
  });

  it('can be deleted once it was excluded', async () => {
    const { at, key } = await hostWithKey();
    const { at: other } = await hostWithKey();
    await at.sshd.stop();
    const id = await field.rotate(key.id, [at, other]);
    await field.ended(id, 60, ['HALTED']);
    await assertKept(at, id);
    const target = (await field.targets(id)).find(({ hostId }) => hostId === at.id);
    await field.ask('POST', `/v1/rotations/${id}/targets/${target?.id}/skip`);
    expect(await remove(at)).toMatchObject({ status: 204 });
  });

  it('cannot be deleted by a call just after the rotation request', async () => {
    const { at, key } = await hostWithKey();
    const letGo = await hold('outbox_message');
    const ordered = field.rotate(key.id, [at]);
    await someoneWaitsWithHost();
    const removed = remove(at);
    expect(await Promise.race([removed, new Promise((resolve) => setTimeout(resolve, 500, 'waits'))])).toBe('waits');
    await letGo();
    const id = await ordered;
    assertProblem(await removed, { status: 409, code: 'host.rotating' });
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
  });

  it('deleted just before the rotation request is not changed, and the rotation states the reason', async () => {
    const { at, key } = await hostWithKey();
    const before = at.sshd.authorizedKeys('deploy');
    const letGo = await hold('audit_entry');
    const removed = remove(at);
    await someoneWaitsWithHost();
    const ordered = field.rotate(key.id, [at]);
    await letGo();
    expect(await removed).toMatchObject({ status: 204 });
    const id = await ordered;
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
    expect(await field.targets(id)).toMatchObject([{ outcome: 'FAILED_PRECHECK', failure: { code: 'host.missing' } }]);
    expect(at.sshd.authorizedKeys('deploy')).toBe(before);
  });

  it('with sudo that runs no commands fails because of the privilege, not the account', async () => {
    const host = await field.addHost({ users: ['deploy', 'svc'] }, { privilege: 'sudo' });
    const login = newClientKey(field.directory, 'login-svc');
    host.sshd.authorize('svc', login.publicKey);
    const { headers } = await field.call('GET', `/v1/hosts/${host.id}`);
    const credential = { user: 'svc', privateKey: login.privateKey };
    await field.call('PATCH', `/v1/hosts/${host.id}`, { credential }, { 'if-match': headers.get('etag') ?? '' });
    expect(await field.ask('POST', `/v1/hosts/${host.id}/test-connection`)).toMatchObject({
      ok: true,
      becomesRoot: false,
      privilegeDetail: expect.stringMatching(/sudo.*NOPASSWD/),
    });
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [host]);
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
    expect((await field.targets(id))[0].failure).toMatchObject({ code: 'host.privilege' });
    // The scan uses the same login, which cannot read the other account's file, so every rotation warns about the unread file.
    await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [host.id] });
    const unread = await until('the end of the scan', 30, async () =>
      (await field.ask('GET', `/v1/rotations/${id}`)).warnings.find((text: string) => text.includes(host.name)),
    );
    expect(unread).toContain('/home/deploy/.ssh/authorized_keys');
  });

  it('with only SHA-1 is reported, and rotated if its record allows it', async () => {
    const host = await field.addHost({ config: ['KexAlgorithms diffie-hellman-group14-sha1'] });
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const test = () => field.ask('POST', `/v1/hosts/${host.id}/test-connection`);
    expect(await test()).toMatchObject({
      code: 'host.no-algorithm',
      detail: expect.stringMatching(/key exchange.*diffie-hellman-group14-sha1.*legacyAlgorithms/),
    });
    const { headers } = await field.call('GET', `/v1/hosts/${host.id}`);
    const allow = { legacyAlgorithms: true };
    await field.call('PATCH', `/v1/hosts/${host.id}`, allow, { 'if-match': headers.get('etag') ?? '' });
    expect(await test()).toMatchObject({ ok: true });
    expect(await field.ended(await field.rotate(key.id, [host]))).toMatchObject({ status: 'DONE' });
  });

  it('loses the key of a holder who is disabled before they confirm it', async () => {
    const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
    const { at, key } = await hostWithKey();
    const theirs = newClientKey(field.directory, 'leaver-new');
    const before = at.sshd.authorizedKeys('deploy');
    const body = { targets: [{ hostId: at.id, account: 'deploy' }], custody: 'human', publicKey: theirs.publicKey };
    const placed = await service.call('POST', `/v1/keys/${key.id}/rotate`, { key: leaver.accessToken, body });
    const id = placed.body.id as string;
    await field.ended(id, 60, ['AWAITING_HOLDER']);
    expect(await logIn(at, theirs.file)).toBe('accepted');
    await service.call('PATCH', `/api/settings/users/${leaver.id}`, { key: apiKey, body: { disabled: true } });
    expect((await field.ended(id, 60, ['ROLLED_BACK'])).status).toBe('ROLLED_BACK');
    expect(at.sshd.authorizedKeys('deploy')).toBe(before);
    expect([await logIn(at, key.file), await logIn(at, theirs.file)]).toEqual(['accepted', 'denied']);
  });

  it('keeps the old key, and does not get the new one again, once the person who has it may no longer rotate keys', async () => {
    const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
    const { at, key } = await hostWithKey();
    const theirs = await field.newKey();
    const before = at.sshd.authorizedKeys('deploy');
    const order = { custody: 'human', publicKey: theirs.publicKey, overlapSeconds: 3600 };
    const body = { targets: [{ hostId: at.id, account: 'deploy' }], ...order };
    const placed = await service.call('POST', `/v1/keys/${key.id}/rotate`, { key: leaver.accessToken, body });
    const id = placed.body.id as string;
    await field.ended(id, 60, ['AWAITING_HOLDER']);
    await field.ask('POST', `/v1/rotations/${id}/confirm`);
    await until('the overlap', 30, async () => (await field.targets(id))[0].state === 'OVERLAP');
    await service.call('PATCH', `/api/settings/users/${leaver.id}`, { key: apiKey, body: { disabled: true } });
    const halted = async () => {
      await stage.sql(`UPDATE ssh_rotation_target SET check_at = now() WHERE rotation_id = $1`, [id]);
      const { status, failure } = await field.ended(id);
      return [status, failure?.code];
    };
    expect(await halted()).toEqual(['HALTED', 'rotation.rights-lost']);
    expect(await logIn(at, key.file)).toBe('accepted');
    expect(at.sshd.authorizedKeys('deploy')).not.toContain('expiry-time');
    writeFileSync(join(at.sshd.home('deploy'), '.ssh/authorized_keys'), before);
    await field.ask('POST', `/v1/rotations/${id}/retry`);
    expect(await halted()).toEqual(['HALTED', 'rotation.rights-lost']);
    expect(at.sshd.authorizedKeys('deploy')).toBe(before);
    await field.ask('POST', `/v1/rotations/${id}/rollback`);
    expect((await field.ended(id)).status).toBe('ROLLED_BACK');
    expect(await field.ask('GET', `/v1/keys/${key.id}`)).not.toHaveProperty('replacedBy');
  });
});
