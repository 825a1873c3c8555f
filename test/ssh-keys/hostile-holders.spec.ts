import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgedPrivateKey } from '../support/forged-keys.js';
import { SshFleet, type ManagedHost } from '../support/rotations.js';
import { until } from '../support/signing.js';
import { canRunSshd, type ClientKey, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('an account named as the holder of a key', () => {
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
  /** Returns all files in a directory with their modes, inodes and sizes. */
  const everythingOf = (user: string) =>
    readdirSync(sshOf(user))
      .sort()
      .map((name) => {
        const { mode, ino, size } = lstatSync(join(sshOf(user), name));
        return [name, mode, ino, size];
      });

  /** Sets up an illegitimate holder of a key. Returns the path and account of the key file. */
  type Hostile = (
    key: ClientKey & { id: string },
    name: string,
  ) => { account?: string; path?: string } | undefined | void;
  const HOSTILE: [string, Hostile, RegExp][] = [
    [
      'claims the key in a header with a cipher',
      (key, name) => void put('eve', name, forgedPrivateKey(key.publicKey, true)),
      /passphrase/,
    ],
    [
      'claims the key in a file without a passphrase',
      (key, name) => void put('eve', name, forgedPrivateKey(key.publicKey, false)),
      /./,
    ],
    [
      'has another key',
      (_key, name) => void put('eve', name, newClientKey(field.directory, name).privateKey),
      /not made with the old key/,
    ],
    [
      'has another key, and the public half of this one beside it',
      (key, name) => {
        put('eve', name, newClientKey(field.directory, name).privateKey);
        put('eve', `${name}.pub`, `${key.publicKey}\n`);
      },
      /./,
    ],
    [
      'has the key, and the public half of another one beside it',
      (key, name) => {
        put('eve', name, key.privateKey);
        put('eve', `${name}.pub`, `${newClientKey(field.directory, name).publicKey}\n`);
      },
      /pub file contains a different key/,
    ],
    [
      'has the key under a passphrase',
      (key, name) => {
        const file = put('eve', name, key.privateKey);
        execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'secret phrase', '-f', file]);
        build.sshd.inside('chown', 'eve:eve', `/home/eve/.ssh/${name}`);
      },
      /passphrase/,
    ],
    [
      'points to the file of somebody else',
      (key, name) => {
        put('deploy', name, key.privateKey);
        symlinkSync(`/home/deploy/.ssh/${name}`, join(sshOf('eve'), name));
      },
      /symbolic link|account/,
    ],
    [
      'has a second name for it',
      (key, name) => {
        const file = put('eve', name, key.privateKey);
        linkSync(file, `${file}.again`);
      },
      /hard link/,
    ],
    [
      'has a FIFO there',
      (_key, name) => void build.sshd.inside('runuser', '-u', 'eve', '--', 'mkfifo', `/home/eve/.ssh/${name}`),
      /not a regular file/,
    ],
    [
      'has a file without end there',
      (_key, name) =>
        void build.sshd.inside('runuser', '-u', 'eve', '--', 'truncate', '-s', '64G', `/home/eve/.ssh/${name}`),
      /too large/,
    ],
    [
      'lets others read it',
      (key, name) => chmodSync(put('eve', name, key.privateKey), 0o640),
      /can be read by other accounts/,
    ],
    [
      'keeps it where everybody may put files',
      (key, name) => {
        const directory = join(build.sshd.home('eve'), `open-${name}`);
        mkdirSync(directory);
        chmodSync(directory, 0o777);
        put('eve', name, key.privateKey);
        build.sshd.inside(
          'sh',
          '-c',
          `mv /home/eve/.ssh/${name} /home/eve/open-${name}/; chown eve:eve /home/eve/open-${name}`,
        );
        return { path: `/home/eve/open-${name}/${name}` };
      },
      /other accounts can change it/,
    ],
    [
      'is root, and the key lies with somebody else',
      (key, name) => {
        put('eve', name, key.privateKey);
        return { account: 'root' };
      },
      /is owned by another account/,
    ],
    [
      'is root, and the file is none of a key',
      () => {
        writeFileSync(join(build.sshd.home('root'), 'fake-shadow'), 'root:$6$x:19000::::::\n', { mode: 0o640 });
        return { account: 'root', path: '/root/fake-shadow' };
      },
      /not a private key/,
    ],
  ];

  it.each(HOSTILE)('that %s receives no new key', async (_name, prepare, why) => {
    const target = await field.addHost();
    const key = await field.newKey();
    target.sshd.authorize('deploy', `no-pty ${key.publicKey}`);
    const file = target.sshd.authorizedKeys('deploy');
    const name = `id_${key.id.slice(-8)}`;
    const holder = { hostId: build.id, account: 'eve', path: `/home/eve/.ssh/${name}`, ...prepare(key, name) };
    const before = everythingOf('eve');
    const shadow = () => build.sshd.inside('sh', '-c', 'cat /root/fake-shadow 2>/dev/null || echo none');
    const shadowBefore = shadow();
    const id = await field.rotate(key.id, [target], { custody: 'host', holder });
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED', failure: { code: 'rotation.holder-unproven' } });
    const [told] = await field.targets(id);
    expect(told).toMatchObject({ outcome: 'FAILED_PRECHECK', failure: { detail: expect.stringMatching(why) } });
    expect([everythingOf('eve'), shadow(), target.sshd.authorizedKeys('deploy')]).toEqual([before, shadowBefore, file]);
    expect((await field.alertAbout(id)) ?? (await until('an alert', 30, () => field.alertAbout(id)))).toBeDefined();
    await field.ask('POST', `/v1/rotations/${id}/rollback`);
  });

  it('that fakes an "accepted" response without having the key receives no new key', async () => {
    const target = await field.addHost();
    const key = await field.newKey();
    target.sshd.authorize('deploy', key.publicKey);
    put('eve', 'id_liar', forgedPrivateKey(key.publicKey, false));
    const liar =
      'while [ -f ~/.ssh/id_liar ]; do for f in ~/.ssh/.sealwright.*.log; do [ -f "$f" ] && echo "Authenticated to all" >> "$f"; done; done';
    build.sshd.inside('sh', '-c', `HOME=/home/eve runuser -u eve -- sh -c '${liar}' >/dev/null 2>&1 &`);
    const holder = { hostId: build.id, account: 'eve', path: '/home/eve/.ssh/id_liar' };
    const id = await field.rotate(key.id, [target], { custody: 'host', holder });
    const ended = await field.ended(id);
    build.sshd.inside('rm', '/home/eve/.ssh/id_liar');
    expect(ended).toMatchObject({ status: 'HALTED', failure: { code: 'rotation.holder-unproven' } });
    expect(target.sshd.authorizedKeys('deploy')).toBe(`${key.publicKey}\n`);
  });
});
