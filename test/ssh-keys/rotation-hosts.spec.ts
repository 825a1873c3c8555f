import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { assertProblem } from '../support/refused-calls.js';
import { SshFleet, type ManagedHost } from '../support/rotations.js';
import { until } from '../support/signing.js';
import { canRunSshd, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('a host that a rotation needs', () => {
  let stage: Stage;
  let field: SshFleet;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  /** A host with a key of `deploy` on it. */
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

  /** Writers of the table wait until the answered function is called. */
  async function hold(table: string): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: stage.databaseUrl });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    const letGo = () => client.end();
    onTestFinished(letGo);
    return letGo;
  }
  /** Of all who wait, as those that tell of an earlier rotation may too: one that keeps a host for itself. */
  const someoneWaitsWithHost = () =>
    until('somebody to wait who has a host', 10, async () => {
      const waiting = await stage.sql(
        `SELECT 1 FROM pg_locks l JOIN pg_locks host USING (pid)
         WHERE NOT l.granted AND host.granted AND host.relation = 'host'::regclass AND host.mode = 'RowShareLock'`,
      );
      return waiting.length > 0;
    });

  it('stays until the rotation has ended, and can be removed then', async () => {
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

  it('stays while the private key is to be made there', async () => {
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

  it('may go once it was left out', async () => {
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

  it('is not removed by who came a moment after the order', async () => {
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

  it('that is removed a moment before the order is not changed, and the rotation gives the reason', async () => {
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

  it('sudo that does not run commands: the cause is the privilege, and not the account', async () => {
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
    // The scan as the same login cannot read the file of the other account, and every rotation says so.
    await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [host.id] });
    const unread = await until('the end of the scan', 30, async () =>
      (await field.ask('GET', `/v1/rotations/${id}`)).warnings.find((text: string) => text.includes(host.name)),
    );
    expect(unread).toContain('/home/deploy/.ssh/authorized_keys');
  });

  it('a host that offers SHA-1 alone: explained, and rotated where its record allows it', async () => {
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
});
