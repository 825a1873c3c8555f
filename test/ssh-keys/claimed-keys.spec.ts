import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgedPrivateKey } from '../support/forged-keys.js';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import { until } from '../support/signing.js';
import { canRunSshd, type ClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const THREE_YEARS_MS = 3 * 365 * 24 * 3600 * 1000;

describe.runIf(canRunSshd())('private keys merely reported by a host', () => {
  let stage: Stage;
  let field: SshFleet;
  /** Host that stores keys and has an unprivileged account of another person. */
  let build: ManagedHost;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
    build = await field.addHost({ users: ['deploy', 'eve'] });
    for (const user of ['deploy', 'eve']) build.sshd.authorize(user, '# nobody');
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  const sshOf = (user: string, { sshd } = build) => join(sshd.home(user), '.ssh');
  /** Writes a file to the account's .ssh directory, with the same owner and mode as if the account had created it. */
  function put(user: string, name: string, content: string | Buffer, at = build): string {
    const file = join(sshOf(user, at), name);
    writeFileSync(file, content);
    chmodSync(file, 0o600);
    at.sshd.inside('chown', `${user}:${user}`, `/home/${user}/.ssh/${name}`);
    return file;
  }
  const scanned = (at: ManagedHost) => field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [at.id] });
  const privateFiles = async (keyId: string) => {
    const { items } = await field.ask('GET', `/v1/keys/${keyId}/locations`);
    return items.filter(({ kind }: { kind: string }) => kind === 'private-key');
  };

  describe('of an account that claims the key of an administrator', () => {
    let at: ManagedHost;
    let admin: ClientKey & { id: string };
    let before: string;
    let forged: string;

    beforeAll(async () => {
      at = await field.addHost({ users: ['deploy', 'eve'] });
      admin = await field.newKey();
      at.sshd.authorize('root', admin.publicKey);
      before = at.sshd.authorizedKeys('root');
      at.sshd.authorize('eve', '# nobody');
      forged = put('eve', 'id_work2', forgedPrivateKey(admin.publicKey, true), at);
      const long = new Date(Date.now() - THREE_YEARS_MS);
      utimesSync(forged, long, long);
      await scanned(at);
      await until('the file to be found', 40, async () => (await privateFiles(admin.id)).length > 0);
    });
    const assertNothingGiven = async () => {
      expect(at.sshd.authorizedKeys('root')).toBe(before);
      expect(readdirSync(sshOf('eve', at)).sort()).toEqual(['authorized_keys', 'id_work2']);
      expect(await logIn(at, admin.file, 'root')).toBe('accepted');
    };

    it('are shown as claimed, and do not backdate the key', async () => {
      expect(await privateFiles(admin.id)).toMatchObject([{ account: 'eve', possession: 'claimed', passphrase: true }]);
      const { holders } = await field.ask('GET', `/v1/keys/${admin.id}/access`);
      expect(holders).toMatchObject([{ path: '/home/eve/.ssh/id_work2', possession: 'claimed' }]);
      const { knownSince } = await field.ask('GET', `/v1/keys/${admin.id}`);
      expect(Date.now() - Date.parse(knownSince)).toBeLessThan(24 * 3600 * 1000);
    });

    it('are not rotated by a policy; an alert and the policy state the reason', async () => {
      // Only the custody prevents the rotation, because the key is old and the file looks usable.
      await stage.sql(`UPDATE ssh_key SET known_since = now() - interval '400 days' WHERE id = $1`, [admin.id]);
      await stage.sql('UPDATE ssh_key_location SET passphrase = false WHERE key_id = $1', [admin.id]);
      const { id } = await field.ask('POST', '/v1/rotation-policies', { name: 'Once a year', maxAgeDays: 365 });
      const alert = await until('an alert', 40, () => field.alertAbout(admin.id));
      expect(alert).toMatchObject({
        severity: 'critical',
        facts: {
          where: expect.stringContaining('/home/eve/.ssh/id_work2 of eve'),
          why: expect.stringContaining('The report is not proven'),
        },
      });
      const policy = await field.ask('GET', `/v1/rotation-policies/${id}`);
      expect(policy.heldBack).toMatchObject([
        {
          keyId: admin.id,
          fingerprint: admin.fingerprint,
          code: 'rotation.holder-claimed',
          detail: expect.stringContaining('of eve'),
        },
      ]);
      // The second check does not report the key again.
      await stage.sql('UPDATE ssh_rotation_policy SET due_at = now() WHERE id = $1', [id]);
      await until('another look', 20, async () => {
        const [row] = await stage.sql<{ later: boolean }>(
          'SELECT due_at > now() AS later FROM ssh_rotation_policy WHERE id = $1',
          [id],
        );
        return row?.later;
      });
      expect(await stage.sql(`SELECT 1 FROM happening WHERE subject_id = $1`, [admin.id])).toHaveLength(0);
      expect((await field.ask('GET', `/v1/rotations?keyId=${admin.id}`)).items).toEqual([]);
      await assertNothingGiven();
      await field.call('DELETE', `/v1/rotation-policies/${id}`);
      expect(await stage.sql('SELECT 1 FROM ssh_rotation_held_back')).toEqual([]);
    });

    it('are not rotated even if people declare that a host holds the key, nor with onFailure skip', async () => {
      await field.ask('POST', '/v1/keys', { publicKey: admin.publicKey, custody: 'host' });
      await stage.sql(`UPDATE ssh_key SET known_since = now() - interval '400 days' WHERE id = $1`, [admin.id]);
      // An unprotected file looks genuine. Only a signature with the key in the file shows that the file is forged.
      put('eve', 'id_work2', forgedPrivateKey(admin.publicKey, false), at);
      await scanned(at);
      const isNew = ({ modifiedAt }: { modifiedAt: string }) =>
        Date.now() - Date.parse(modifiedAt) < THREE_YEARS_MS / 2;
      await until('the other file', 40, async () => (await privateFiles(admin.id)).some(isNew));
      const order = { name: 'Once a year', maxAgeDays: 365, onFailure: 'skip' };
      const { id: policy } = await field.ask('POST', '/v1/rotation-policies', order);
      const [rotation] = await until('a rotation', 30, async () => {
        const { items } = await field.ask('GET', `/v1/rotations?keyId=${admin.id}`);
        return items.length > 0 && items;
      });
      const ended = await field.ended(rotation.id);
      expect(ended).toMatchObject({
        status: 'HALTED',
        failure: {
          code: 'rotation.holder-unproven',
          detail: expect.stringContaining('/home/eve/.ssh/id_work2 of eve'),
        },
      });
      const alert = await until('an alert', 40, () => field.alertAbout(rotation.id));
      expect(alert).toMatchObject({ facts: { why: ended.failure.detail } });
      await assertNothingGiven();
      await field.call('DELETE', `/v1/rotation-policies/${policy}`);
    });
  });

  it('do not cause writes to a holder on an inventory-only host', async () => {
    const watched = await field.addHost({}, { managementMode: 'inventory-only' });
    const target = await field.addHost();
    const key = await field.newKey();
    target.sshd.authorize('deploy', key.publicKey);
    watched.sshd.authorize('deploy', '# nobody');
    const file = put('deploy', 'id_ed25519', key.privateKey, watched);
    const holder = { hostId: watched.id, account: 'deploy', path: '/home/deploy/.ssh/id_ed25519' };
    const id = await field.rotate(key.id, [target], { custody: 'host', holder });
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
    expect((await field.targets(id))[0]).toMatchObject({ failure: { code: 'host.not-managed' } });
    expect(readFileSync(file, 'utf8')).toBe(key.privateKey);
  });

  it('are replaced for an account that proves possession, with a file nobody else may read, and are then proven', async () => {
    const target = await field.addHost();
    const key = await field.newKey();
    target.sshd.authorize('deploy', key.publicKey);
    const file = put('deploy', 'id_own', key.privateKey);
    chmodSync(file, 0o400);
    const holder = { hostId: build.id, account: 'deploy', path: '/home/deploy/.ssh/id_own' };
    const id = await field.rotate(key.id, [target], { custody: 'host', holder, overlapSeconds: 1 });
    const { status, nextKeyId } = await field.ended(id);
    expect([status, statSync(file).mode & 0o777]).toEqual(['DONE', 0o600]);
    expect(await privateFiles(key.id)).toMatchObject([{ possession: 'proven', goneAt: expect.any(String) }]);
    expect(await privateFiles(nextKeyId)).toMatchObject([{ path: '/home/deploy/.ssh/id_own', possession: 'proven' }]);
    expect(await logIn(target, field.keep('own', readFileSync(file, 'utf8')))).toBe('accepted');
    await scanned(build);
    await until('the scan', 40, async () => (await privateFiles(nextKeyId))[0]?.modifiedAt);
    expect((await privateFiles(nextKeyId))[0]?.possession).toBe('proven');
    // After the file is replaced, possession is only `claimed` again.
    const later = new Date(Date.now() + 60_000);
    utimesSync(file, later, later);
    await scanned(build);
    await until('another scan', 40, async () => (await privateFiles(nextKeyId))[0]?.possession === 'claimed');
  });
});
