import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

/** Each test has a separate host or account, so the tests can run concurrently. */
describe.runIf(canRunSshd())('a rotation facing obstacles', () => {
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let at: ManagedHost;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes', SVC_SSH_ROTATION_LEASE_SECONDS: '5' } });
    field = new SshFleet(() => service, apiKey);
    at = await field.addHost({
      users: ['deploy', 'ann'],
      matches: ['Match User ann', '  AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/keys-of-%u .ssh/more'],
    });
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  const sshOf = (user: string) => join(at.sshd.home(user), '.ssh');
  const order = (user: string) => ({ targets: [{ hostId: at.id, account: user }] });
  const proven = async (id: string) => {
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
    const { body } = await field.call('GET', `/v1/rotations/${id}`);
    const released = await field.released(body.keyId);
    return field.keep(`next-${id}`, released?.privateKey ?? '');
  };

  it.concurrent.each([
    ['ann', 'more'],
    ['deploy', 'authorized_keys2'],
  ])('changes only the planned lines in all kinds of files of %s, and keeps mode and owner', async (user, second) => {
    const key = await field.newKey();
    const other = newClientKey(field.directory, `other-${user}`).publicKey;
    const files: [string, string, number][] = [
      ['authorized_keys', `# caf\xe9\r\nno-pty,environment="A=\\"x, y\\"" ${key.publicKey}\r\n${other}\r\n`, 0o600],
      [second, `${other}\n\n  ${key.publicKey}\n# twice\n${key.publicKey}`, 0o640],
    ];
    at.sshd.authorize(user, '#');
    for (const [name, text, mode] of files) {
      const file = join(sshOf(user), name);
      writeFileSync(file, Buffer.from(text, 'latin1'));
      chmodSync(file, mode);
      at.sshd.inside('chown', `${user}:${user}`, `/home/${user}/.ssh/${name}`);
    }
    const stats = files.map(([name]) => statSync(join(sshOf(user), name)));
    const id = await field.rotate(key.id, [], order(user));
    const next = await proven(id);
    const comment = key.publicKey.split(' ')[2];
    const line = `ssh-ed25519 ${(await nextOf(id)).split(' ')[1]} ${comment} sealwright:${id}`;
    for (const [i, [name, text]] of files.entries()) {
      const file = join(sshOf(user), name);
      expect(readFileSync(file, 'latin1')).toBe(text.replaceAll(key.publicKey, line));
      const { mode, uid, gid } = statSync(file);
      expect([mode, uid, gid]).toEqual([stats[i]?.mode, stats[i]?.uid, stats[i]?.gid]);
    }
    expect([await logIn(at, next, user), await logIn(at, key.file, user)]).toEqual(['accepted', 'denied']);
    expect(readdirSync(sshOf(user)).sort()).toEqual(['authorized_keys', second]);
  });

  async function nextOf(id: string): Promise<string> {
    const { nextKeyId } = await field.ask('GET', `/v1/rotations/${id}`);
    return (await field.ask('GET', `/v1/keys/${nextKeyId}`)).publicKey;
  }

  it.concurrent('follows a symbolic link within the home directory, and keeps it', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const file = join(host.sshd.home('deploy'), '.ssh/authorized_keys');
    renameSync(file, join(file, '../real'));
    symlinkSync('real', file);
    const next = await proven(await field.rotate(key.id, [host]));
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect([await logIn(host, next), await logIn(host, key.file)]).toEqual(['accepted', 'denied']);
  });

  it.concurrent.each([
    [
      'a link out of the home',
      'rotation.obstacle',
      (file: string) => {
        renameSync(file, '/var/tmp/sealwright-elsewhere');
        symlinkSync('/var/tmp/sealwright-elsewhere', file);
      },
    ],
    [
      'another name of the file',
      'rotation.obstacle',
      (file: string, { sshd }: ManagedHost) => sshd.inside('ln', inHost(file), `${inHost(file)}.link`),
    ],
    [
      'a configuration management system',
      'rotation.managed-elsewhere',
      (file: string) => appendFileSync(file, '# Managed by Puppet, do not edit\n'),
    ],
    ['a file that others may write', 'rotation.old-refused', (file: string) => chmodSync(file, 0o666)],
  ])('%s: is rejected before anything is changed', async (_name, code, spoil) => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const file = join(host.sshd.home('deploy'), '.ssh/authorized_keys');
    spoil(file, host);
    const before = readFileSync(file);
    const id = await field.rotate(key.id, [host]);
    const halted = await field.ended(id);
    const [target] = await field.targets(id);
    expect(halted).toMatchObject({ status: 'HALTED', progress: { FAILED_PRECHECK: 1 } });
    expect(halted.failure.detail).toBe(`The account could not be rotated. ${target.failure.detail}`);
    expect(target).toMatchObject({ state: 'PLANNED', failure: { code } });
    expect(readFileSync(file)).toEqual(before);
    await field.ask('POST', `/v1/rotations/${id}/rollback`);
    expect(await field.ended(id, 20, ['ROLLED_BACK'])).toBeDefined();
  });
  const inHost = (file: string) => file.slice(file.indexOf('/home/'));

  it.concurrent.each([
    ['full', 'size=1m', /with \d+ KiB free, but replacing it requires 65 KiB/],
    ['read-only', 'size=8m,ro', /in a directory where no file can be created/],
  ])('on a file system that is %s is rejected, and the old key keeps working', async (_name, options, reason) => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    host.sshd.inside(
      'sh',
      '-ec',
      `cp -a /home/deploy /tmp/keep.$$; mount -t tmpfs -o ${options.replace(',ro', '')} none /home/deploy
      cp -a /tmp/keep.$$/. /home/deploy/; chown deploy:deploy /home/deploy; chmod 755 /home/deploy; rm -r /tmp/keep.$$
      ${options.includes('ro') ? 'mount -o remount,ro /home/deploy' : 'head -c 2000000 /dev/zero > /home/deploy/filler 2>/dev/null || true'}`,
    );
    const id = await field.rotate(key.id, [host]);
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
    const { failure } = (await field.targets(id))[0];
    expect(failure.code).toBe('rotation.obstacle');
    expect(failure.detail).toMatch(reason);
    expect(await until('an alert', 30, () => field.alertAbout(id))).toMatchObject({ severity: 'critical' });
    expect(await logIn(host, key.file)).toBe('accepted');
    expect(host.sshd.inside('ls', '-A', '/home/deploy/.ssh').trim()).toBe('authorized_keys');
  });

  it.concurrent('with a changed host key is rejected before authentication', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    await host.sshd.swapHostKey('ed25519');
    const logged = host.sshd.log().length;
    const id = await field.rotate(key.id, [host]);
    await field.ended(id);
    expect((await field.targets(id))[0].failure.code).toBe('host.key-changed');
    const said = host.sshd.log().slice(logged);
    expect(said).toContain('Connection');
    expect(said).not.toMatch(/userauth|publickey|Accepted|Failed/i);
  });

  it.concurrent('keeps lines added by others in the meantime', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [host], { overlapSeconds: 3 });
    const added: string[] = [];
    for (let over = false; !over;) {
      const line = newClientKey(field.directory, randomUUID()).publicKey;
      host.sshd.authorize('deploy', line);
      added.push(line);
      await sleep(1000);
      over = (await field.call('GET', `/v1/rotations/${id}`)).body.status === 'DONE';
    }
    const text = host.sshd.authorizedKeys('deploy');
    expect(added.filter((line) => !text.includes(line))).toEqual([]);
    expect(added.length).toBeGreaterThan(2);
  });

  it.concurrent('is rolled back on request: the file is byte-identical to the original', async () => {
    const host = await field.addHost();
    const other = await field.addHost({}, { managementMode: 'inventory-only' });
    const key = await field.newKey();
    host.sshd.authorize('deploy', `no-pty ${key.publicKey}`);
    const before = host.sshd.authorizedKeys('deploy');
    const id = await field.rotate(key.id, [host, other]);
    await field.ended(id, 40, ['HALTED']);
    expect(host.sshd.authorizedKeys('deploy').split('\n')).toHaveLength(3);
    await field.ask('POST', `/v1/rotations/${id}/rollback`);
    expect(await field.ended(id, 40, ['ROLLED_BACK'])).toMatchObject({
      progress: { ROLLED_BACK: 1, FAILED_PRECHECK: 1 },
    });
    expect(host.sshd.authorizedKeys('deploy')).toBe(before);
    expect(await field.call('POST', `/v1/rotations/${id}/rollback`)).toMatchObject({
      status: 409,
      body: { code: 'rotation.too-late' },
    });
  });

  it.concurrent('of a personal key waits until its owner confirms that it works', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const next = newClientKey(field.directory, 'ann-new');
    const id = await field.rotate(key.id, [host], { custody: 'human', publicKey: next.publicKey });
    await field.ended(id, 30, ['AWAITING_HOLDER']);
    expect([await logIn(host, key.file), await logIn(host, next.file)]).toEqual(['accepted', 'accepted']);
    await field.ask('POST', `/v1/rotations/${id}/confirm`);
    expect((await field.ended(id)).status).toBe('DONE');
    expect([await logIn(host, key.file), await logIn(host, next.file)]).toEqual(['denied', 'accepted']);
    expect(host.sshd.authorizedKeys('deploy')).toBe(`${next.publicKey}\n`);
  });

  it.concurrent('of an HSM key logs in although the key cannot be read', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [host], { custody: 'hsm' });
    expect((await field.ended(id)).status).toBe('DONE');
    expect(host.sshd.log()).toMatch(/Accepted publickey for deploy from \S+ port \d+ ssh2: ECDSA SHA256:/);
    expect(await field.released(key.id)).toBeUndefined();
    expect(await logIn(host, key.file)).toBe('denied');
  });

  it.concurrent('of a key held by a host generates it there, and the private half never leaves the host', async () => {
    const holder = await field.addHost();
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    holder.sshd.authorize('deploy', '# nobody');
    const file = join(holder.sshd.home('deploy'), '.ssh/id_ed25519');
    writeFileSync(file, key.privateKey);
    holder.sshd.inside(
      'sh',
      '-c',
      'chown deploy:deploy /home/deploy/.ssh/id_ed25519; chmod 600 /home/deploy/.ssh/id_ed25519',
    );
    const id = await field.rotate(key.id, [host], {
      custody: 'host',
      holder: { hostId: holder.id, account: 'deploy', path: '/home/deploy/.ssh/id_ed25519' },
    });
    expect((await field.ended(id)).status).toBe('DONE');
    expect(readFileSync(file, 'utf8')).not.toBe(key.privateKey);
    const moved = field.keep('moved', readFileSync(file, 'utf8'));
    expect([await logIn(host, moved), await logIn(host, key.file)]).toEqual(['accepted', 'denied']);
    expect(readdirSync(join(holder.sshd.home('deploy'), '.ssh')).sort()).toEqual([
      'authorized_keys',
      'id_ed25519',
      'id_ed25519.pub',
    ]);
  });

  it.concurrent('reports an old key that reappears as drift', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [host]);
    expect((await field.ended(id)).status).toBe('DONE');
    host.sshd.authorize('deploy', key.publicKey);
    await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [host.id] });
    await until('a drift', 30, async () => (await field.targets(id))[0].driftedAt !== undefined);
    await until('an alert', 30, async () => {
      const { items } = await field.ask('GET', '/api/alerts');
      return JSON.stringify(items).includes(key.fingerprint);
    });
    const [entry] = await stage.sql<{ detail: unknown }>(
      `SELECT detail FROM audit_entry WHERE action = 'ssh-rotation.drifted'`,
    );
    expect(entry?.detail).toMatchObject({ hostId: host.id, account: 'deploy', fingerprint: key.fingerprint, line: 2 });
    const alert = await until('an alert', 30, () => field.alertAbout(key.id));
    expect(alert).toMatchObject({
      severity: 'critical',
      facts: { where: expect.stringContaining('authorized_keys:2') },
    });
  });

  it.concurrent(
    'detects in a check that a line of the new key was removed during the overlap, and retry restores it',
    async () => {
      const host = await field.addHost();
      const key = await field.newKey();
      host.sshd.authorize('deploy', `no-pty ${key.publicKey}`);
      const id = await field.rotate(key.id, [host], { overlapSeconds: 3600 });
      await until('the overlap', 60, async () => (await field.targets(id))[0].state === 'OVERLAP');
      writeFileSync(keysOf(host), `no-pty ${key.publicKey}\n`);
      await stage.sql(`UPDATE ssh_rotation_target SET check_at = now() WHERE rotation_id = $1`, [id]);
      expect(await field.ended(id, 40, ['HALTED'])).toMatchObject({ failure: { code: 'rotation.blocked' } });
      const [blocked] = await field.targets(id);
      expect(blocked.failure).toMatchObject({
        code: 'rotation.new-line-removed',
        detail: expect.stringContaining('/home/deploy/.ssh/authorized_keys'),
      });
      expect(await logIn(host, key.file)).toBe('accepted');
      await field.ask('POST', `/v1/rotations/${id}/retry`);
      await until('another overlap', 60, async () => {
        const [{ state, steps }] = await field.targets(id);
        const limited = steps.filter(({ step, outcome }: Answer['body']) => step === 'limit-old' && outcome === 'DONE');
        return state === 'OVERLAP' && limited.length === 2;
      });
      const released = await field.released(key.id);
      const next = field.keep(`again-${id}`, released?.privateKey ?? '');
      expect([await logIn(host, next), await logIn(host, key.file)]).toEqual(['accepted', 'accepted']);
      await endOverlap(id);
      expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
      expect(await logIn(host, next)).toBe('accepted');
    },
  );

  it.concurrent(
    'restores the new line with the options of the old one on retry when both were removed after the handover',
    async () => {
      const host = await field.addHost();
      const key = await field.newKey();
      host.sshd.authorize('deploy', `no-pty ${key.publicKey}`);
      const id = await field.rotate(key.id, [host], { overlapSeconds: 3600 });
      await until('the overlap', 60, async () => (await field.targets(id))[0].state === 'OVERLAP');
      writeFileSync(keysOf(host), '# emptied\n');
      await endOverlap(id);
      expect(await field.ended(id)).toMatchObject({ status: 'CRITICAL', failure: { code: 'rotation.locked-out' } });
      await field.ask('POST', `/v1/rotations/${id}/retry`);
      expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
      expect(host.sshd.authorizedKeys('deploy')).toMatch(
        /^# emptied\nno-pty ssh-ed25519 \S+ key-\d+ sealwright:\S+\n$/,
      );
    },
  );

  it.concurrent(
    'names a file changed by another program as the cause, not the old key, if the new line is removed immediately',
    async () => {
      const host = await field.addHost();
      const key = await field.newKey();
      host.sshd.authorize('deploy', key.publicKey);
      const looping = setInterval(() => {
        const text = readFileSync(keysOf(host), 'utf8');
        if (text.includes('sealwright:')) writeFileSync(keysOf(host), text.replace(/.*sealwright:.*\n/g, ''));
      }, 5);
      try {
        const id = await field.rotate(key.id, [host]);
        await field.ended(id, 60, ['HALTED', 'ROLLED_BACK']);
        // The cause depends on whether the line is removed during or after the write.
        const causes = ['rotation.new-line-removed', 'host.file-changed'];
        expect(causes).toContain((await field.targets(id))[0].failure.code);
        expect(await logIn(host, key.file)).toBe('accepted');
      } finally {
        clearInterval(looping);
      }
    },
  );

  it.concurrent('keeps the expiry of the old key when the worker died after setting it', async () => {
    const host = await field.addHost();
    const key = await field.newKey();
    host.sshd.authorize('deploy', key.publicKey);
    const id = await field.rotate(key.id, [host], { overlapSeconds: 3600 });
    await until('the overlap', 60, async () => (await field.targets(id))[0].state === 'OVERLAP');
    const limit = () => /expiry-time="(\d+Z)"/.exec(host.sshd.authorizedKeys('deploy'))?.[1];
    const before = limit();
    await sleep(1100);
    // Simulates a worker that died after writing the expiry to the file but before updating the row.
    await stage.sql(
      `UPDATE ssh_rotation_target SET state = 'PROMOTED', due_at = now(), check_at = NULL, overlap_ends_at = NULL WHERE rotation_id = $1`,
      [id],
    );
    await until('the overlap again', 60, async () => (await field.targets(id))[0].state === 'OVERLAP');
    expect(limit()).toBe(before);
    const [target] = await field.targets(id);
    expect(new Date(target.oldEndsAt).getTime()).toBeLessThan(Date.now() + 3_599_500);
    await endOverlap(id);
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
  });

  const keysOf = (host: ManagedHost) => join(host.sshd.home('deploy'), '.ssh/authorized_keys');
  const endOverlap = (id: string) =>
    stage.sql(
      `UPDATE ssh_rotation_target SET due_at = now(), check_at = NULL, overlap_ends_at = now() WHERE rotation_id = $1`,
      [id],
    );
});
