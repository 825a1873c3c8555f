import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPLACE_FILE } from '../../src/hosts/connections/file-scripts.js';
import { HostFiles } from '../../src/hosts/connections/host-files.service.js';
import { LiveSession } from '../../src/hosts/connections/live-session.js';
import type { ChangeSession } from '../../src/hosts/model/ssh-session.port.js';
import { openSocket, sshHandshake } from '../../src/hosts/connections/ssh-handshake.js';
import { parseAddress } from '../../src/formats/encoding/ip-address.js';
import { FIND_SSHD, readEffective } from '../../src/platform/ssh/key-files.js';
import { askSshd } from '../../src/ssh-keys/rotation/steps/sshd-settings.js';
import { canRunSshd, type ClientKey, newClientKey, type Sshd, startSshd } from '../support/sshd.js';

describe.runIf(canRunSshd())('an SSH session with a real sshd', () => {
  const files = new HostFiles();
  let sshd: Sshd;
  let key: ClientKey;
  let root: LiveSession & ChangeSession;
  let deploy: LiveSession & ChangeSession;

  beforeAll(async () => {
    const matches = [
      'Match LocalAddress 127.20.0.0/16 Host 127.0.0.1',
      'AuthorizedKeysFile .ssh/authorized_keys .ssh/here',
    ];
    sshd = await startSshd({ users: ['deploy', 'ann'], matches });
    key = newClientKey(sshd.directory, 'login');
    for (const user of ['root', 'deploy', 'ann']) sshd.authorize(user, key.publicKey);
    root = await login('root');
    deploy = await login('deploy');
  });
  afterAll(async () => {
    root.close();
    deploy.close();
    await sshd.close();
  });

  async function login(user: string, by = key, timeoutMs = 5000): Promise<LiveSession & ChangeSession> {
    const address = parseAddress(sshd.address);
    if (address === undefined) throw new Error('no address');
    const stream = await openSocket([address], { port: sshd.port, timeoutMs: 5000 });
    const loggedIn = await sshHandshake({
      stream,
      login: { kind: 'private-key', user, privateKey: by.privateKey },
      timeoutMs,
      keyTypes: [],
      judge: () => undefined,
      proven: () => undefined,
    });
    const account = { hostId: 'here', user, privilege: user === 'root' ? 'root' : 'none' } as const;
    return new LiveSession(loggedIn, account, []) as LiveSession & ChangeSession;
  }
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const pathOf = (name: string): string => join(sshd.home('ann'), name);

  it('runs commands with arguments that no shell interprets, and passes input and status', async () => {
    const odd = `it's "$HOME" \`id\` \\ ; * \n end`;
    const result = await root.run('printf "%s|" "$@"; cat; exit 7', { args: [odd, ''], input: Buffer.from('in') });
    expect(result).toMatchObject({ code: 7, signal: null, truncated: false });
    expect(result.stdout.toString()).toBe(`${odd}||in`);
    expect((await root.run('id -un; echo "$1"', { as: 'ann', args: [odd] })).stdout.toString()).toBe(`ann\n${odd}\n`);
    await expect(deploy.run('id', { as: 'root' })).rejects.toMatchObject({ code: 'host.privilege' });
  });

  it('reads only the output of the script, whatever the login shell prints before it', async () => {
    // Output of ~/.ssh/rc reaches the client in the same way as output of .bashrc or .zshenv.
    const rc = join(sshd.home('deploy'), '.ssh/rc');
    writeFileSync(rc, `echo '${'Welcome\n[7m%\n'.repeat(100)}'\n`);
    writeFileSync(join(sshd.home('deploy'), 'odd'), '\0\nno end');
    expect((await deploy.exec('true')).stdout.toString()).toMatch(/^Welcome/);
    expect((await deploy.run('echo "$1"', { args: ['one'] })).stdout.toString()).toBe('one\n');
    expect((await deploy.run('yes', { maxBytes: 10 })).stdout.toString()).toBe('y\n'.repeat(5));
    expect((await files.read(deploy, '/home/deploy/odd', { maxBytes: 8 }))?.toString()).toBe('\0\nno end');
    await expect(files.read(deploy, '/home/deploy/odd', { maxBytes: 7 })).rejects.toMatchObject({
      code: 'host.output',
    });
    expect(await files.state(deploy, '/home/deploy/odd')).toMatchObject({ size: 8, owner: 'root' });
    rmSync(rc);
  });

  it('does not accept the output of another command as its own', async () => {
    for (const forced of ['echo 0', 'echo $SSH_ORIGINAL_COMMAND']) {
      const restricted = newClientKey(sshd.directory, `restricted-${forced.length}`);
      sshd.authorize('ann', `command="${forced}" ${restricted.publicKey}`);
      const ann = await login('ann', restricted);
      await expect(ann.run('id -u')).rejects.toMatchObject({ code: 'host.output' });
      ann.close();
    }
  });

  it('reads the sshd settings for a login over this connection, even if sudo clears SSH_CONNECTION', async () => {
    const patterns = ['.ssh/authorized_keys', '.ssh/here'];
    expect((await askSshd(root, 'ann')).settings).toMatchObject({ confidence: 'high', patterns });
    const bare = 'env -u SSH_CONNECTION sh -c "$1" sh ann; exit $?';
    const { stdout } = await root.run(bare, { args: [`${FIND_SSHD} settings_for "$1"`] });
    expect(readEffective(stdout.toString())).toMatchObject({ patterns });
  });

  it('aborts commands with endless output or excessive duration', async () => {
    const flood = await deploy.exec('yes', { maxBytes: 10_000, timeoutMs: 5000 });
    expect({ size: flood.stdout.length, truncated: flood.truncated }).toEqual({ size: 10_000, truncated: true });
    await expect(deploy.exec('sleep 30', { timeoutMs: 200 })).rejects.toMatchObject({ code: 'host.timeout' });
    expect((await deploy.exec('echo still here')).stdout.toString()).toBe('still here\n');
  });

  it('is lost once the host is silent for the login timeout, whatever the timeout of the command', async () => {
    const session = await login('deploy', key, 2000);
    const began = performance.now();
    // Pausing the sshd process that serves this connection looks like a network failure to the client.
    const command = session.exec('echo $PPID > ~/served-by; kill -STOP $PPID; sleep 60', { timeoutMs: 60_000 });
    await expect(command).rejects.toMatchObject({ code: 'host.lost' });
    expect(performance.now() - began).toBeLessThan(15_000);
    sshd.inside('sh', '-c', 'kill -KILL "$(cat /home/deploy/served-by)"');
    expect((await deploy.exec('echo still here')).stdout.toString()).toBe('still here\n');
  });

  it('reads state and content of files', async () => {
    writeFileSync(pathOf('plain'), 'text');
    chmodSync(pathOf('plain'), 0o640);
    symlinkSync('plain', pathOf('link'));
    expect(await files.state(root, '/home/ann/link')).toMatchObject({
      realPath: '/home/ann/plain',
      kind: 'file',
      isLink: true,
      mode: '640',
      owner: 'root',
      size: 4,
      sha256: sha256('text'),
    });
    expect(await files.state(root, '/home/ann/nothing')).toBeUndefined();
    expect(await files.read(root, '/home/ann/nothing')).toBeUndefined();
    expect(String(await files.read(root, '/home/ann/link'))).toBe('text');
    await expect(files.read(deploy, '/root/.ssh/authorized_keys')).rejects.toMatchObject({ code: 'host.file' });
    await expect(files.read(root, '/home/ann/plain', { maxBytes: 2 })).rejects.toMatchObject({ code: 'host.output' });
  });

  it('replaces a file atomically as its owner, and keeps mode and owner', async () => {
    const path = '/home/ann/.ssh/authorized_keys';
    const here = pathOf('.ssh/authorized_keys');
    const old = readFileSync(here, 'utf8');
    chmodSync(here, 0o640);
    const before = statSync(here);
    const content = Buffer.from(`${old}# one more\r\n`);
    await files.replace(root, { path, content, expected: sha256(old), as: 'ann', mark: 'r1' });
    expect(readFileSync(here)).toEqual(content);
    const after = statSync(here);
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid]);
    expect(after.ino).not.toBe(before.ino);
    const stale = files.replace(root, {
      path,
      content: Buffer.from(old),
      expected: sha256(old),
      as: 'ann',
      mark: 'r2',
    });
    await expect(stale).rejects.toMatchObject({ code: 'host.file-changed' });
    expect(readFileSync(here)).toEqual(content);
    expect(readdirSync(pathOf('.ssh'))).toEqual(['authorized_keys']);
  });

  it('creates a file only if none exists, and follows a symbolic link to the file', async () => {
    await files.replace(root, {
      path: '/home/ann/new',
      content: Buffer.from('1'),
      expected: null,
      as: 'ann',
      mark: 'n',
    });
    expect(statSync(pathOf('new')).mode & 0o777).toBe(0o600);
    const again = files.replace(root, {
      path: '/home/ann/new',
      content: Buffer.from('2'),
      expected: null,
      as: 'ann',
      mark: 'n',
    });
    await expect(again).rejects.toMatchObject({ code: 'host.file-changed' });
    symlinkSync('new', pathOf('to-new'));
    await files.replace(root, {
      path: '/home/ann/to-new',
      content: Buffer.from('3'),
      expected: sha256('1'),
      as: 'ann',
      mark: 'n',
    });
    expect(lstatSync(pathOf('to-new')).isSymbolicLink()).toBe(true);
    expect(readFileSync(pathOf('new'), 'utf8')).toBe('3');
  });

  it('prevents an attempt that outlives its worker from replacing a file once the next has started', async () => {
    const place = mkdtempSync(join(sshd.directory, 'attempts-'));
    const [path, left] = [join(place, 'keys'), join(place, '.sealwright.r3.1.tmp')];
    for (const file of [path, left]) writeFileSync(file, 'old');
    const attempt = (content: string) => {
      const args = [path, 'r3', sha256('old'), sha256(content), '600'];
      const child = spawn('sh', ['-c', REPLACE_FILE, 'sealwright', ...args], { stdio: ['pipe', 'ignore', 'ignore'] });
      return { input: child.stdin, code: once(child, 'exit').then(([code]) => code as number) };
    };
    const slow = attempt('slow');
    slow.input.write('slo');
    await expect
      .poll(() => readdirSync(place).filter((name) => name.endsWith('.tmp')), { timeout: 30_000 })
      .not.toContain('.sealwright.r3.1.tmp');
    const next = attempt('next');
    next.input.end('next');
    expect(await next.code).toBe(0);
    slow.input.end('w');
    expect(await slow.code).not.toBe(0);
    expect(readFileSync(path, 'utf8')).toBe('next');
    expect(readdirSync(place)).toEqual(['keys']);
  });

  it.each([
    ['an appended line stays', 'echo late >> "$file"', 0, 'new\nlate\n'],
    [
      'two lines of whoever had it open stay',
      'exec 9>> "$file"; echo one >&9; late="echo two >&9"',
      0,
      'new\none\ntwo\n',
    ],
    ['any other change counts, and ours does not', 'echo theirs > "$file"', 76, 'theirs\n'],
    ['another file in its place is seen', 'late="echo theirs > $file"', 76, 'theirs\n'],
  ])('handles concurrent writes while a file is replaced: %s', async (_, meanwhile, code, then) => {
    const place = mkdtempSync(join(sshd.directory, 'moment-'));
    const path = join(place, 'keys');
    writeFileSync(path, 'old\n');
    // Simulates a concurrent change immediately before the rename and, optionally, immediately after the rename.
    const commands = mkdtempSync(join(sshd.directory, 'commands-'));
    const script = `#!/bin/sh\nfile=${path}; late=:\n${meanwhile}\n/bin/mv "$@"; status=$?\neval "$late"; exit $status\n`;
    writeFileSync(join(commands, 'mv'), script, { mode: 0o755 });
    const args = [path, 'r6', sha256('old\n'), sha256('new\n'), '600'];
    const env = { ...process.env, PATH: `${commands}:${process.env['PATH'] ?? ''}` };
    const child = spawn('sh', ['-c', REPLACE_FILE, 'sealwright', ...args], {
      stdio: ['pipe', 'ignore', 'ignore'],
      env,
    });
    child.stdin.end('new\n');
    expect((await once(child, 'exit'))[0]).toBe(code);
    expect(readFileSync(path, 'utf8')).toBe(then);
    expect(readdirSync(place)).toEqual(['keys']);
  });

  it('removes only files left behind by an interrupted replacement', async () => {
    for (const name of ['.sealwright.r4.77.tmp', '.sealwright.r5.78.tmp']) writeFileSync(pathOf(name), 'x');
    await files.tidy(root, { path: '/home/ann/any', as: 'ann', mark: 'r4' });
    expect(readdirSync(pathOf('.')).filter((name) => name.startsWith('.sealwright'))).toEqual([
      '.sealwright.r5.78.tmp',
    ]);
  });

  it('changes a file with the rights of its owner, and leaves everything unchanged if they are insufficient', async () => {
    writeFileSync(pathOf('of-root'), 'x', { mode: 0o600 });
    const path = '/etc/hosts';
    const attempt = files.replace(root, { path, content: Buffer.from('x'), expected: null, as: 'ann', mark: 'n' });
    await expect(attempt).rejects.toMatchObject({ code: 'host.file' });
    expect(readFileSync('/etc/hosts', 'utf8')).not.toBe('x');
    expect(existsSync('/etc/.sealwright.n.tmp')).toBe(false);
  });

  it('detects that it has ended', async () => {
    const session = await login('deploy');
    await expect(session.exec('kill -9 $PPID; sleep 30')).rejects.toMatchObject({ code: 'host.lost' });
    expect(session.isOpen).toBe(false);
    await expect(session.exec('true')).rejects.toMatchObject({ code: 'host.lost' });
  });
});
