import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateUnderHammer } from '../../chaos/rotation/hammered.js';
import { type Approver, newApprover, newGroup, vote } from '../approvals/approvers.js';
import { deviceGrant, makeClient, postForm } from '../auth/oauth-calls.js';
import { assertProblem } from '../support/refused-calls.js';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, fingerprintOfLine } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('rotation on real hosts', () => {
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let apiKey: string;

  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes', SVC_SSH_ROTATION_LEASE_SECONDS: '5' } });
    field = new SshFleet(() => service, apiKey);
    await field.addHost();
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  const host = (i = 0) => field.hosts[i] as ManagedHost;

  /** Creates an old key that grants access to the host. */
  const oldKey = async ({ id: hostId, sshd }: ManagedHost, custody: 'service' | 'unknown') => {
    const key = await field.newKey(undefined, custody);
    sshd.authorize('deploy', key.publicKey);
    await stage.sql(
      `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, path, first_seen, last_seen)
       VALUES (gen_random_uuid(), $1, $2, 'authorized-key', 'deploy', '/home/deploy/.ssh/authorized_keys', now(), now())`,
      [key.id, hostId],
    );
    await stage.sql(`UPDATE ssh_key SET known_since = now() - interval '400 days' WHERE id = $1`, [key.id]);
    return key;
  };

  /** Waits for the rotation started by a policy. */
  const orderedFor = async (keyId: string): Promise<string> => {
    const [{ id }] = await until('a rotation', 30, async () => {
      const { items } = await field.ask('GET', `/v1/rotations?keyId=${keyId}`);
      return items.length > 0 && items;
    });
    return id;
  };

  it('shows the exact change in a dry run, and changes nothing', async () => {
    const key = await field.newKey();
    const line = `no-pty,command="echo \\"hi, there\\"" ${key.publicKey}`;
    host().sshd.authorize('deploy', `# team\n${line}\n# end`);
    const before = host().sshd.authorizedKeys('deploy');
    const id = await field.rotate(key.id, [host()], { dryRun: true });
    expect(await field.ended(id)).toMatchObject({ status: 'PLANNED', progress: { READY: 1 } });
    const [target] = await field.targets(id);
    expect(target).toMatchObject({
      outcome: 'READY',
      confidence: 'high',
      steps: [{ step: 'precheck', outcome: 'DONE' }],
    });
    const [diff] = target.diffs;
    expect(diff.path).toBe('/home/deploy/.ssh/authorized_keys');
    expect(diff.result.split('\n').slice(2)).toEqual([
      '@@ -1,3 +1,3 @@',
      ' # team',
      `-${line}`,
      `+no-pty,command="echo \\"hi, there\\"" ssh-ed25519 <new key> ${key.publicKey.split(' ')[2]} sealwright:${id}`,
      ' # end',
      '',
    ]);
    expect(host().sshd.authorizedKeys('deploy')).toBe(before);
  });

  // `npm run proof -- rotation` runs a larger version.
  it('runs twice under constant logins: none is denied, the old key ends and the new one is accepted', async () => {
    expect(await rotateUnderHammer({ stage, apiKey, config: [], say: () => {} }, { rotations: 2, hosts: 2 })).toEqual(
      [],
    );
  });

  it('restores the file of a host that never accepts the new key byte for byte, and the old key keeps working', async () => {
    const at = await field.addHost({
      matches: ['Match User deploy', '  PubkeyAcceptedAlgorithms rsa-sha2-512,rsa-sha2-256'],
    });
    const key = await field.newKey(['-t', 'rsa', '-b', '2048']);
    at.sshd.authorize('deploy', `# team\nno-pty ${key.publicKey}`);
    const before = at.sshd.authorizedKeys('deploy');
    const id = await field.rotate(key.id, [at]);
    expect(await field.ended(id)).toMatchObject({ status: 'ROLLED_BACK' });
    const [target] = await field.targets(id);
    expect(target).toMatchObject({ outcome: 'ROLLED_BACK', failure: { code: 'rotation.new-key-refused' } });
    expect(at.sshd.authorizedKeys('deploy')).toBe(before);
    expect(await logIn(at, key.file)).toBe('accepted');
  });

  it.each([
    ['8.9', /^expiry-time="\d{14}" ssh-ed25519/, []],
    ['6.9', /^ssh-ed25519/, [expect.stringContaining('expiry-time')]],
  ])('writes a key expiry that OpenSSH %s understands, in its time zone', async (version, line, warnings) => {
    const at = await field.addHost({ version, timeZone: 'Asia/Tokyo' });
    const key = await field.newKey();
    at.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [at], { overlapSeconds: 5 });
    const limited = await until('the overlap', 30, async () => {
      const [target] = await field.targets(id);
      return target.state === 'OVERLAP' && at.sshd.authorizedKeys('deploy');
    });
    expect(limited).toMatch(line);
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
    expect((await field.targets(id))[0].warnings).toEqual(warnings);
    expect(await logIn(at, key.file)).toBe('denied');
  });

  it('by an age policy rotates old keys and finds their holders, and nothing else', async () => {
    const at = await field.addHost();
    const [held, human] = [await oldKey(at, 'service'), await oldKey(at, 'unknown')];
    const order = { name: 'Once a year', maxAgeDays: 365, overlapSeconds: 1 };
    const policy = await field.ask('POST', '/v1/rotation-policies', order);
    expect((await field.call('POST', '/v1/rotation-policies', order)).status).toBe(409);
    expect((await field.ended(await orderedFor(held.id))).status).toBe('DONE');
    expect([await logIn(at, held.file), await logIn(at, human.file)]).toEqual(['denied', 'accepted']);
    expect((await field.ask('GET', `/v1/rotations?keyId=${human.id}`)).items).toEqual([]);
    expect((await field.call('DELETE', `/v1/rotation-policies/${policy.id}`)).status).toBe(204);
  });

  it('halts before it changes a host once its requester may no longer start rotations', async () => {
    const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
    const at = await field.addHost();
    const key = await oldKey(at, 'service');
    const before = at.sshd.authorizedKeys('deploy');
    // The rotation is requested while the host is down, so that no step runs before the account is disabled.
    await at.sshd.stop();
    const body = { targets: [{ hostId: at.id, account: 'deploy' }], overlapSeconds: 2 };
    const placed = await service.call('POST', `/v1/keys/${key.id}/rotate`, { key: leaver.accessToken, body });
    expect(placed.status).toBe(202);
    const path = `/api/settings/users/${leaver.id}`;
    await service.call('PATCH', path, { key: apiKey, body: { disabled: true } });
    await at.sshd.start();
    const id = placed.body.id as string;
    await stage.sql(`UPDATE ssh_rotation_target SET due_at = now() WHERE rotation_id = $1`, [id]);
    const { body: halted } = await field.ended(id).then(() => field.call('GET', `/v1/rotations/${id}`));
    expect([halted.status, halted.failure.code]).toEqual(['HALTED', 'rotation.rights-lost']);
    expect(at.sshd.authorizedKeys('deploy')).toBe(before);
  });

  describe('under an approval policy', () => {
    let ada: Approver;
    let bob: Approver;
    beforeAll(async () => {
      const place = { stage, service, apiKey };
      ada = await newApprover(place);
      bob = await newApprover(place, ['approver', 'operator']);
      const { body: group } = await newGroup(place, [ada, bob]);
      const stages = [{ group: group.id, threshold: 1 }];
      const conditions = [{ fact: 'metadata.label.env', op: 'in', values: ['prod'] }];
      await field.ask('POST', '/api/v1/approval-policies', {
        name: 'Production keys',
        subject: 'ssh-rotation',
        keys: ['*'],
        stages,
        conditions,
      });
    });

    const ordered = async (env: string) => {
      const at = await field.addHost({}, { labels: { env } });
      const key = await field.newKey();
      at.sshd.authorize('deploy', `no-pty ${key.publicKey}`);
      const id = await field.rotate(key.id, [at]);
      return { at, key, id, file: at.sshd.authorizedKeys('deploy') };
    };
    const waiting = async (id: string) => (await field.ended(id, 40, ['PENDING_APPROVAL'])).approvalId as string;

    it('waits with nothing changed, shows the exact change, and runs once approved', async () => {
      const { at, key, id, file } = await ordered('prod');
      const approvalId = await waiting(id);
      const { body } = await service.call('GET', `/api/v1/approvals/${approvalId}`, { key: ada.accessToken });
      expect(body.subject).toMatchObject({ kind: 'ssh-rotation', id });
      const [account] = body.shown.accounts;
      const comes = at.sshd.authorizedKeys('deploy');
      expect(comes).toBe(file);
      expect(account.changes[0].diff).toContain(`-no-pty ${key.publicKey}\n+no-pty ssh-ed25519 AAAA`);
      expect(body.shown.goes.fingerprint).toBe(key.fingerprint);
      const refused = await field.call('POST', `/v1/rotations/${id}/rollback`);
      assertProblem(refused, { status: 409, code: 'rotation.pending-approval' });
      expect(refused.body).toMatchObject({ instance: `/api/v1/approvals/${approvalId}` });
      expect((await vote(service, approvalId, ada, { body: { hash: body.hash } })).status).toBe(200);
      expect((await field.ended(id)).status).toBe('DONE');
      const released = await field.released(key.id);
      expect(await logIn(at, field.keep('approved', released?.privateKey ?? ''))).toBe('accepted');
      expect(fingerprintOfLine(at.sshd.authorizedKeys('deploy').replace('no-pty ', ''))).toBe(
        body.shown.comes.fingerprint,
      );
    });

    it('cannot be approved by anybody who has seen the secret of the client that requested it', async () => {
      const eve = await newApprover({ stage, service, apiKey }, ['admin', 'approver']);
      const { body: group } = await newGroup({ service, apiKey }, [eve, ada]);
      const at = await field.addHost({}, { labels: { env: 'test' } });
      const key = await field.newKey();
      at.sshd.authorize('deploy', key.publicKey);
      const order = { name: 'Client', subject: 'ssh-rotation', keys: [key.fingerprint] };
      const stages = [{ group: group.id, threshold: 1 }];
      const { id: policy } = await field.ask('POST', '/api/v1/approval-policies', { ...order, stages });
      const client = await makeClient(service, eve.accessToken, ['keys:rotate', 'keys:read']);
      const secret = { client_id: client.client_id, client_secret: client.client_secret };
      const { body: device } = await postForm(service, '/oauth/device_authorization', secret);
      await service.call('POST', `/api/auth/device/${device.user_code}/approve`, { key: bob.accessToken, body: {} });
      const grant = { ...deviceGrant(client, device.device_code), ...secret };
      const { body: tokens } = await postForm(service, '/oauth/token', grant);
      const asBob = { key: tokens.access_token as string };
      await service.call('POST', '/api/auth/step-up', { ...asBob, body: { password: bob.password } });
      const body = { targets: [{ hostId: at.id, account: 'deploy' }], overlapSeconds: 1 };
      const { body: rotation } = await service.call('POST', `/v1/keys/${key.id}/rotate`, { ...asBob, body });
      const approvalId = await waiting(rotation.id);
      for (const one of [eve, bob])
        assertProblem(await vote(service, approvalId, one), { status: 403, code: 'approval.own-request' });
      await vote(service, approvalId, ada, { decision: 'reject' });
      await field.call('DELETE', `/api/v1/approval-policies/${policy}`);
    });

    it('belongs to the last author of the rotation policy that started it, who cannot approve it', async () => {
      const key = await oldKey(await field.addHost({}, { labels: { env: 'prod' } }), 'service');
      const order = { name: 'Once in ten years', maxAgeDays: 3650, overlapSeconds: 1 };
      const { id } = await field.ask('POST', '/v1/rotation-policies', order);
      const change = (as: string) =>
        service.call('PUT', `/v1/rotation-policies/${id}`, {
          key: as,
          headers: { 'if-match': '"1"' },
          body: { ...order, maxAgeDays: 365 },
        });
      expect(await change(bob.accessToken)).toMatchObject({ status: 200, body: { maxAgeDays: 365, version: 2 } });
      expect(await change(apiKey)).toMatchObject({ status: 412, body: { code: 'request.stale' } });
      await stage.sql('UPDATE ssh_rotation_policy SET due_at = now() WHERE id = $1', [id]);
      const rotation = await orderedFor(key.id);
      const approvalId = await waiting(rotation);
      expect(await vote(service, approvalId, bob)).toMatchObject({
        status: 403,
        body: { code: 'approval.own-request' },
      });
      expect((await vote(service, approvalId, ada)).status).toBe(200);
      expect((await field.ended(rotation)).status).toBe('DONE');
    });

    it.each<[string, (place: { at: ManagedHost; id: string }) => unknown, string]>([
      ['the file is another one by then', ({ at }) => at.sshd.authorize('deploy', '# more'), 'rotation.not-as-shown'],
      [
        'the row was changed',
        ({ id }) =>
          stage.sql(`UPDATE ssh_rotation SET settings = settings || '{"overlapSeconds": 9}' WHERE id = $1`, [id]),
        'rotation.not-approved',
      ],
      [
        'the row was cut loose',
        ({ id }) =>
          stage
            .sql(`UPDATE ssh_rotation SET approval_demand = NULL, status = 'RUNNING' WHERE id = $1`, [id])
            .then(() => stage.sql(`UPDATE ssh_rotation_target SET due_at = now() WHERE rotation_id = $1`, [id])),
        'rotation.not-approved',
      ],
      [
        'nothing in the rows says any more that it needs approval',
        async ({ at, id }) => {
          await stage.sql(`UPDATE host SET labels = '{"env": "test"}' WHERE id = $1`, [at.id]);
          await stage.sql(`UPDATE ssh_rotation SET approval_demand = NULL, approval_id = NULL WHERE id = $1`, [id]);
          await stage.sql(
            `DELETE FROM approval_item WHERE approval_id IN (SELECT id FROM approval WHERE subject_id = $1)`,
            [id],
          );
          await stage.sql(`UPDATE approval SET subject_id = gen_random_uuid() WHERE subject_id = $1`, [id]);
          await stage.sql(`UPDATE ssh_rotation SET status = 'RUNNING' WHERE id = $1`, [id]);
          await stage.sql(`UPDATE ssh_rotation_target SET state = 'PLANNED', due_at = now() WHERE rotation_id = $1`, [
            id,
          ]);
        },
        'rotation.not-approved',
      ],
    ])('does not start when %s', async (_, change, code) => {
      const place = await ordered('prod');
      const approvalId = await waiting(place.id);
      await change(place);
      const before = place.at.sshd.authorizedKeys('deploy');
      await vote(service, approvalId, ada);
      await field.ended(place.id, 40, ['HALTED']);
      expect((await field.targets(place.id))[0]).toMatchObject({ outcome: 'FAILED_PRECHECK', failure: { code } });
      expect(place.at.sshd.authorizedKeys('deploy')).toBe(before);
    });

    it('does not continue from rows inserted mid-way', async () => {
      const at = await field.addHost();
      const [old, next] = [await field.newKey(), await field.newKey()];
      at.sshd.authorize('deploy', '# team');
      const before = at.sshd.authorizedKeys('deploy');
      const [rotation, target] = [randomUUID(), randomUUID()];
      const settings = { verifySeconds: 60, overlapSeconds: 0, onFailure: 'skip' };
      await stage.sql(
        `INSERT INTO ssh_rotation (id, key_id, next_key_id, custody, status, settings, requested_by, owner_id, correlation)
         VALUES ($1, $2, $3, 'human', 'RUNNING', $4, '{"kind":"system","id":"x","name":"x"}', 'x', 'x')`,
        [rotation, old.id, next.id, JSON.stringify(settings)],
      );
      const file = {
        path: '/home/deploy/.ssh/authorized_keys',
        as: 'deploy',
        sha256: '',
        originals: [''],
        oldText: 'x',
      };
      await stage.sql(
        `INSERT INTO ssh_rotation_target (id, rotation_id, host_id, account, wave, state, due_at, restore_next, plan)
         VALUES ($1, $2, $3, 'deploy', 0, 'PROMOTED', now(), true, $4)`,
        [target, rotation, at.id, JSON.stringify({ files: [file], diffs: [], confidence: 'high', warnings: [] })],
      );
      const targetRow = () =>
        stage.sql(`SELECT outcome, failure_code AS code FROM ssh_rotation_target WHERE id = $1`, [target]);
      await expect
        .poll(targetRow, { timeout: 20_000 })
        .toEqual([{ outcome: 'BLOCKED', code: 'rotation.not-approved' }]);
      expect(at.sshd.authorizedKeys('deploy')).toBe(before);
    });

    it('follows a key named in its policy through every rotation, and states which key it covers', async () => {
      const at = await field.addHost({}, { labels: { env: 'test' } });
      const key = await field.newKey();
      at.sshd.authorize('deploy', key.publicKey);
      const { body: group } = await newGroup({ service, apiKey }, [ada]);
      const order = { name: 'One key', subject: 'ssh-rotation', keys: [key.fingerprint] };
      const stages = [{ group: group.id, threshold: 1 }];
      const { id: policy } = await field.ask('POST', '/api/v1/approval-policies', { ...order, stages });
      const covered = async () => (await field.ask('GET', `/api/v1/approval-policies/${policy}`)).coveredKeys;
      expect(await covered()).toEqual([key.fingerprint]);
      const first = await field.rotate(key.id, [at]);
      await vote(service, await waiting(first), ada);
      expect((await field.ended(first)).status).toBe('DONE');
      const next = await field.released(key.id);
      const { fingerprint } = await field.ask('GET', `/v1/keys/${next?.id}`);
      expect(await covered()).toEqual([fingerprint]);
      const second = await field.rotate(next?.id ?? '', [at]);
      await vote(service, await waiting(second), ada, { decision: 'reject' });
      expect((await field.ended(second, 20, ['CANCELLED'])).failure.code).toBe('approval.rejected');
      await field.call('DELETE', `/api/v1/approval-policies/${policy}`);
    });

    it('waits again when a stricter policy applies before the first host is changed', async () => {
      const { body: group } = await newGroup({ service, apiKey }, [bob]);
      const { at, id, file } = await ordered('prod');
      const approvalId = await waiting(id);
      const lease = (end: string) =>
        stage.sql(`UPDATE ssh_rotation_target SET lease_until = ${end} WHERE rotation_id = $1`, [id]);
      await lease(`now() + interval '1 hour'`);
      expect((await vote(service, approvalId, ada)).body.status).toBe('APPROVED');
      const stages = [{ group: group.id, threshold: 1 }];
      const order = { name: 'Stricter', subject: 'ssh-rotation', keys: ['*'], stages };
      const { id: policy } = await field.ask('POST', '/api/v1/approval-policies', order);
      await lease('NULL');
      expect(await waiting(id)).toBe(approvalId);
      expect(at.sshd.authorizedKeys('deploy')).toBe(file);
      expect((await vote(service, approvalId, bob)).body.status).toBe('APPROVED');
      expect((await field.ended(id)).status).toBe('DONE');
      await field.call('DELETE', `/api/v1/approval-policies/${policy}`);
    });

    it('ends when rejected, and requires no approval if no policy applies', async () => {
      const { id, at, file } = await ordered('prod');
      const { id: free } = await ordered('test');
      await vote(service, await waiting(id), ada, { decision: 'reject' });
      const ended = await field.ended(id, 20, ['CANCELLED']);
      expect(ended).toMatchObject({ failure: { code: 'approval.rejected' }, progress: { SKIPPED: 1 } });
      expect(at.sshd.authorizedKeys('deploy')).toBe(file);
      expect((await field.ended(free)).status).toBe('DONE');
    });
  });
});
