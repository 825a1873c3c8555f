import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import { canRunSshd, type ClientKey, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('an unusual authorized_keys file', () => {
  let stage: Stage;
  let field: SshFleet;
  let at: ManagedHost;
  let key: ClientKey & { id: string };
  const others = () => newClientKey(field.directory, `other-${(names += 1)}`).publicKey;
  let names = 0;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
    at = await field.addHost();
    at.sshd.authorize('deploy', '# nobody');
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });
  const file = () => join(at.sshd.home('deploy'), '.ssh/authorized_keys');

  it.each([
    ['has CRLF', (line: string) => `# team\r\n${line}\r\n${others()}\r\n`],
    ['has vertical tabs and escapes', (line: string) => `# a\vb\u001b[2K\f\n${line}\n# \r lone\n`],
    ['is no UTF-8', (line: string) => `# \xe9\xff\n${line}\n`],
    ['has no end', (line: string) => `${others()}\n   # indented\n\n \t\n${line}`],
    [
      'has the options of before',
      (line: string) => `no-pty, restrict ${others()}\nno-pty,environment="A=1, 2" ${line}\n`,
    ],
  ])('that %s keeps every other byte', async (_name, around) => {
    key = await field.newKey();
    const before = around(key.publicKey);
    writeFileSync(file(), before, 'latin1');
    const id = await field.rotate(key.id, [at], { overlapSeconds: 1 });
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
    const released = await field.released(key.id);
    expect(await logIn(at, field.keep(`odd-${released?.id}`, released?.privateKey ?? ''))).toBe('accepted');
    const after = Buffer.from(at.sshd.inside('base64', '-w0', '/home/deploy/.ssh/authorized_keys'), 'base64').toString(
      'latin1',
    );
    const [, next = ''] = /(ssh-ed25519 \S+ (?:\S+ )?sealwright:\S+)/.exec(after) ?? [];
    expect(after.replace(next, key.publicKey)).toBe(before);
  });

  it('that contains the key twice keeps the restrictions and comment of each line, and lines of others', async () => {
    key = await field.newKey();
    const [type, blob] = key.publicKey.split(' ');
    const other = others();
    const lines = [
      '# Added by the platform team',
      `from="127.0.0.0/8" ${type} ${blob} ann@laptop`,
      '',
      other,
      `from="127.0.0.0/8,192.0.2.0/24",no-pty ${type} ${blob} backup of ann`,
      '# end',
    ];
    writeFileSync(file(), `${lines.join('\n')}\n`);
    const id = await field.rotate(key.id, [at], { overlapSeconds: 1 });
    expect(await field.ended(id)).toMatchObject({ status: 'DONE' });
    const after = at.sshd.authorizedKeys('deploy').split('\n');
    expect(after).toEqual([
      lines[0],
      expect.stringMatching(/^from="127\.0\.0\.0\/8" ssh-ed25519 \S+ ann@laptop sealwright:\S+$/),
      '',
      other,
      expect.stringMatching(
        /^from="127\.0\.0\.0\/8,192\.0\.2\.0\/24",no-pty ssh-ed25519 \S+ backup of ann sealwright:\S+$/,
      ),
      '# end',
      '',
    ]);
    expect(after.join()).not.toContain(blob);
  });

  it('that is world-writable is ignored by sshd, and the plan names its mode', async () => {
    key = await field.newKey();
    writeFileSync(file(), `${key.publicKey}\n`);
    chmodSync(file(), 0o666);
    const id = await field.rotate(key.id, [at], { dryRun: true });
    await field.ended(id);
    const [target] = await field.targets(id);
    expect(target).toMatchObject({ outcome: 'FAILED_PRECHECK', failure: { detail: expect.stringMatching(/666/) } });
    chmodSync(file(), 0o600);
  });

  it.each<[string, (line: string) => void, string, RegExp]>([
    ['holds a NUL', (line) => writeFileSync(file(), `${line}\n# \0\n`), 'rotation.obstacle', /NUL/],
    [
      'is a FIFO',
      () => {
        rmSync(file());
        at.sshd.inside('runuser', '-u', 'deploy', '--', 'mkfifo', '/home/deploy/.ssh/authorized_keys');
      },
      'rotation.no-file',
      /not a regular file/,
    ],
    [
      'has no end in sight',
      () => {
        rmSync(file());
        at.sshd.inside('runuser', '-u', 'deploy', '--', 'truncate', '-s', '64G', '/home/deploy/.ssh/authorized_keys');
      },
      'rotation.obstacle',
      /too large to read/,
    ],
    [
      'is a link to the file of root',
      (line) => {
        at.sshd.authorize('root', line);
        rmSync(file());
        at.sshd.inside(
          'runuser',
          '-u',
          'deploy',
          '--',
          'ln',
          '-s',
          '/root/.ssh/authorized_keys',
          '/home/deploy/.ssh/authorized_keys',
        );
      },
      'host.file',
      /could not change/,
    ],
  ])('that %s is not changed, immediately and with the reason', async (_name, prepare, code, why) => {
    key = await field.newKey();
    prepare(key.publicKey);
    const root = at.sshd.authorizedKeys('root');
    const id = await field.rotate(key.id, [at]);
    expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
    const [target] = await field.targets(id);
    expect(target).toMatchObject({ failure: { code, detail: expect.stringMatching(why) } });
    expect(target.steps).toHaveLength(1);
    expect(at.sshd.authorizedKeys('root')).toBe(root);
    rmSync(file(), { force: true });
    at.sshd.authorize('deploy', '# nobody');
  });

  it.each(['.ssh/keys.d/*', '.ssh/authorized_key?', '.ssh/authorized_keys[23]'])(
    'that sshd finds by a pattern (%s) is not changed',
    async (pattern) => {
      const other = await field.addHost({ config: [`AuthorizedKeysFile .ssh/authorized_keys ${pattern}`] });
      key = await field.newKey();
      other.sshd.authorize('deploy', key.publicKey);
      const id = await field.rotate(key.id, [other]);
      expect(await field.ended(id)).toMatchObject({ status: 'HALTED' });
      const [target] = await field.targets(id);
      expect(target).toMatchObject({ failure: { code: 'rotation.glob', detail: expect.stringContaining(pattern) } });
    },
  );
});
