import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomUUID } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READ, HOST_SURVEY, WALK } from '../../src/discovery/deep/host-scripts.js';
import { assertProblem } from '../support/refused-calls.js';
import { SshFleet, logIn, type ManagedHost } from '../support/rotations.js';
import type { Answer } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, type ClientKey, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const USERS = ['deploy', 'ann', 'eve', ...Array.from({ length: 47 }, (_, i) => `user${i}`)];
const NEXT = Buffer.from('\n');
const OPTIONS = 'from="10.0.0.0/8",command="echo \\"a, b\\" #",no-pty';

/** Returns the seed of an Ed25519 key. In OpenSSH's format, the key ends with the seed, the public key, and the comment. */
function seedOf({ privateKey, publicKey }: ClientKey): Buffer {
  const body = Buffer.from(privateKey.split('\n').slice(1, -2).join(''), 'base64');
  const half = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64').subarray(-32);
  const end = body.lastIndexOf(half);
  return body.subarray(end - 32, end);
}

describe.runIf(canRunSshd())('a scan with login', () => {
  let stage: Stage;
  let field: SshFleet;
  let at: ManagedHost;
  let result: Answer['body'];
  /** Fingerprint, account, path, line and options of every line that grants access. */
  const expected: string[] = [];
  /** Bytes of seeds and private exponents, which must never leave the host. */
  const secrets: Buffer[] = [];

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
    at = await field.addHost({
      users: USERS,
      matches: ['Match User ann', '  AuthorizedKeysFile .ssh/authorized_keys /home/keys/%u /home/ann/.ssh/more*'],
    });
    furnish();
    const before = listing();
    result = await scanned();
    expect(listing()).toBe(before);
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  const listing = () =>
    execFileSync('find', [join(at.sshd.directory, 'home'), '-printf', '%p %T@ %C@ %s\n']).toString();
  const put = (user: string, path: string, content: string | Buffer, mode = 0o600) => {
    const file = join(at.sshd.home(user), path);
    writeFileSync(file, content, { mode });
    const uid = user === 'root' ? 0 : 21_000 + USERS.indexOf(user);
    chownSync(file, uid, uid);
    return file;
  };
  const put0 = (directory: string) => mkdirSync(directory, { recursive: true, mode: 0o755 });
  const newKey = (name: string, kind?: string[], passphrase?: string) =>
    newClientKey(field.directory, name, kind, passphrase);
  const keepSecret = (key: string, passphrase?: string) => {
    const { d = '' } = createPrivateKey({ key, passphrase }).export({ format: 'jwk' });
    secrets.push(Buffer.from(d, 'base64url'));
    return key;
  };
  const letIn = (key: { fingerprint: string }, account: string, path: string, line: number, options = '') =>
    expected.push([key.fingerprint, account, path, line, options].join(' '));

  function furnish(): void {
    const [one, two, three] = ['one', 'two', 'three'].map((name) => newKey(name));
    if (one === undefined || two === undefined || three === undefined) throw new Error('no keys');
    for (const user of USERS) {
      put0(join(at.sshd.home(user), '.ssh'));
      const lines = `# caf\xe9\r\n\r\n${OPTIONS} ${one.publicKey}\r\nnot a key\r\n${two.publicKey}`;
      put(user, '.ssh/authorized_keys', Buffer.from(lines, 'latin1'));
      letIn(one, user, `/home/${user}/.ssh/authorized_keys`, 3, OPTIONS);
      letIn(two, user, `/home/${user}/.ssh/authorized_keys`, 5);
    }
    put('user1', '.ssh/authorized_keys2', `${three.publicKey}\n`);
    letIn(three, 'user1', '/home/user1/.ssh/authorized_keys2', 1);
    put0(join(at.sshd.directory, 'home/keys'));
    writeFileSync(join(at.sshd.directory, 'home/keys/ann'), `${three.publicKey}\n`);
    letIn(three, 'ann', '/home/keys/ann', 1);
    put('ann', '.ssh/more keys', `restrict ${three.publicKey}\n`);
    letIn(three, 'ann', '/home/ann/.ssh/more keys', 1, 'restrict');
    // Creates symbolic links to private keys of the user and root, at paths where public keys are expected.
    const own = newKey('own');
    secrets.push(seedOf(own));
    put('eve', '.ssh/id_ed25519', own.privateKey);
    put('root', 'id_root', own.privateKey);
    symlinkSync('/root/id_root', join(at.sshd.home('eve'), '.ssh/authorized_keys2'));
    put('user2', '.ssh/plain', own.privateKey);
    symlinkSync('plain', join(at.sshd.home('user2'), '.ssh/authorized_keys2'));
    const rsa = newKey('rsa', ['-t', 'rsa', '-b', '2048'], 'open sesame');
    put('deploy', '.ssh/id_rsa', rsa.privateKey);
    secrets.push(Buffer.from(rsa.privateKey.split('\n').at(-4) ?? ''));
    put('deploy', '.ssh/loose', keepSecret(newKey('loose', ['-t', 'ecdsa', '-m', 'PEM']).privateKey), 0o644);
    const old = newKey('old', ['-t', 'rsa', '-b', '2048', '-m', 'PEM'], 'open sesame');
    put('deploy', '.ssh/old.pem', keepSecret(old.privateKey, 'open sesame'));
    const tls = join(at.sshd.home('deploy'), 'tls');
    put0(tls);
    const subject = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=deep.example', '-days', '9'];
    execFileSync('openssl', [...subject, '-keyout', join(tls, 'a.key'), '-out', join(tls, 'a.crt')], {
      stdio: 'ignore',
    });
    keepSecret(readFileSync(join(tls, 'a.key'), 'utf8'));
    const both = readFileSync(join(tls, 'a.crt'), 'utf8') + readFileSync(join(tls, 'a.key'), 'utf8');
    writeFileSync(join(tls, 'both.pem'), both);
    const inTls = (...args: string[]) => execFileSync('openssl', args, { cwd: tls, stdio: 'ignore' });
    inTls('x509', '-in', 'a.crt', '-outform', 'DER', '-out', 'a.der');
    inTls('pkcs12', '-export', '-in', 'a.crt', '-inkey', 'a.key', '-passout', 'pass:locked', '-out', 'a.p12');
    writeFileSync(join(tls, 'java.jks'), Buffer.from('feedfeed000000020000000000000000', 'hex'));
    const logs = join(at.sshd.directory, 'logs');
    put0(logs);
    const login = `sshd[7]: Accepted publickey for deploy from 192.0.2.7 port 50022 ssh2: ED25519 ${one.fingerprint}`;
    writeFileSync(join(logs, 'auth.log'), `2026-11-20T14:00:00.123456+01:00 host ${login}\n`);
    at.sshd.inside('mount', '--bind', logs, '/var/log');
  }

  async function scanned(): Promise<Answer['body']> {
    const { id } = await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [at.id] });
    await until('the scan', 60, async () => (await field.ask('GET', `/v1/scans/${id}`)).status === 'DONE');
    return (await field.ask('GET', `/v1/scans/${id}/results`)).items[0];
  }

  const keys = async () => (await field.ask('GET', `/v1/keys?hostId=${at.id}&limit=200`)).items as Answer['body'][];
  const locations = async () => {
    const pages = (await keys()).map((key) => field.ask('GET', `/v1/keys/${key.id}/locations?limit=200`));
    return (await Promise.all(pages)).flatMap(({ items }) => items);
  };

  it('finds every line of every account with its options, and changes nothing on the host', async () => {
    expect(result).toMatchObject({ outcome: 'FOUND', hostId: at.id, facts: { confidence: 'high', readAs: 'root' } });
    expect(result.facts.sshd).toMatchObject({ permitrootlogin: 'without-password', loglevel: 'VERBOSE' });
    const known = await until('the keys', 30, async () => {
      const places = (await locations()).filter((place) => place.kind === 'authorized-key' && place.account !== 'root');
      return places.length >= expected.length && places;
    });
    const names = new Map((await keys()).map((key) => [key.id, key.fingerprint]));
    expect(names.size).toBeGreaterThan(4);
    const found = await Promise.all(
      (await keys()).map(async (key) => {
        const { items } = await field.ask('GET', `/v1/keys/${key.id}/locations?limit=200`);
        return items
          .filter((place: Answer['body']) => place.kind === 'authorized-key' && place.account !== 'root')
          .map((place: Answer['body']) =>
            [key.fingerprint, place.account, place.path, place.line, place.options ?? ''].join(' '),
          );
      }),
    );
    expect(new Set(found.flat())).toEqual(new Set(expected));
    expect(known).toHaveLength(expected.length);
    expect(result.facts.pathsDenied.sort()).toEqual([
      '/home/eve/.ssh/authorized_keys2',
      '/home/user2/.ssh/authorized_keys2',
    ]);
  });

  it('identifies private keys by their public half, and those without a passphrase', async () => {
    const files = result.facts.privateKeys as Answer['body'][];
    const told = files
      .filter(({ path }) => path.startsWith('/home/'))
      .map(({ path, type, passphrase, fingerprint, format }) => [path, type, passphrase, fingerprint !== null, format]);
    expect(told.toSorted((a, b) => (a[0] < b[0] ? -1 : 1))).toEqual([
      ['/home/deploy/.ssh/id_rsa', 'ssh-rsa', true, true, 'OpenSSH'],
      ['/home/deploy/.ssh/loose', 'ecdsa-sha2-nistp256', false, true, 'PEM'],
      ['/home/deploy/.ssh/old.pem', 'unknown', true, false, 'PEM'],
      ['/home/deploy/tls/a.key', 'ssh-rsa', false, true, 'PEM'],
      ['/home/deploy/tls/both.pem', 'ssh-rsa', false, true, 'PEM'],
      ['/home/eve/.ssh/id_ed25519', 'ssh-ed25519', false, true, 'OpenSSH'],
      ['/home/user2/.ssh/plain', 'ssh-ed25519', false, true, 'OpenSSH'],
    ]);
    const shared = (await field.ask('GET', '/v1/keys?finding=shared')).items;
    expect(shared.map(({ comment }: Answer['body']) => comment)).toEqual(['own']);
    const [one] = (await field.ask('GET', `/v1/keys?hostId=${at.id}&limit=200`)).items.filter(
      (key: Answer['body']) => key.comment === 'one',
    );
    expect(one.lastLogin).toMatchObject({ account: 'deploy', source: '192.0.2.7', at: '2026-11-20T13:00:00.000Z' });
  });

  it('prints no private byte', () => {
    const accounts = ['root', 'deploy', 'eve', 'user2'].map(
      (user) => `${user}\t/home/${user}/.ssh/authorized_keys\t/home/${user}/.ssh/authorized_keys2`,
    );
    const run = (script: string, input: string) => at.sshd.feed(input, 'sh', '-c', script);
    const printed = [run(HOST_SURVEY, ''), run(READ, `${accounts.join('\n')}\n`), run(WALK, '/home\n/root\n')].join(
      '\n',
    );
    const plain = Buffer.concat(printed.split(/[\t\n]/).flatMap((text) => [Buffer.from(text, 'base64'), NEXT]));
    expect(plain.includes('BEGIN CERTIFICATE')).toBe(true);
    expect(plain.includes('PRIVATE KEY-----')).toBe(false);
    expect(secrets).toHaveLength(5);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(31);
      expect(plain.includes(secret) || printed.includes(secret.toString('base64').slice(0, 40))).toBe(false);
    }
  });

  it('opens no path that the name of a directory of an account contains after a line feed', () => {
    const outside = join(at.sshd.directory, 'outside');
    const home = at.sshd.home('deploy');
    mkdirSync(outside);
    mkdirSync(`${home}/d\n${outside}`, { recursive: true });
    const certificate = readFileSync(join(home, 'tls', 'a.crt'));
    for (const directory of [outside, `${home}/d\n${outside}`]) writeFileSync(join(directory, 'o.crt'), certificate);
    const paths = at.sshd
      .feed('/home\n', 'sh', '-c', WALK)
      .split(/[\t\n]/)
      .map((text) => Buffer.from(text, 'base64').toString());
    expect(paths).toContain('/home/deploy/tls/a.crt');
    expect(paths.filter((path) => path.includes('outside'))).toEqual([]);
  });

  it('passes certificates, key stores and keys to the inventory, with their dependencies', async () => {
    const assets = await until('the assets', 30, async () => {
      const { items } = await field.ask('GET', '/api/assets?limit=200');
      return items.some((asset: Answer['body']) => asset.name === 'deep.example') && (items as Answer['body'][]);
    });
    const names = assets.map((asset: Answer['body']) => asset.name as string);
    expect(names).toEqual(expect.arrayContaining(['PKCS12 key store /home/deploy/tls/a.p12', 'host-1']));
    expect(names).toContain('JKS key store /home/deploy/tls/java.jks');
    const host = assets.find((asset: Answer['body']) => asset.name === 'host-1');
    const neighbours = await field.ask('GET', `/api/relationships/${host?.id}/neighbours?limit=200`);
    expect(neighbours.items.length).toBeGreaterThan(8);
  });

  it('reports files it may not read', async () => {
    const { id } = await field.ask('POST', '/v1/hosts', { name: 'no-login', address: '192.0.2.9' });
    const order = (body: object) => field.call('POST', '/v1/scans', { kind: 'ssh-deep', ...body });
    assertProblem(await order({ hosts: [id] }), { status: 422, code: 'scan.no-hosts', pointer: '/hosts/0' });
    assertProblem(await order({ label: 'env:none' }), { status: 422, code: 'scan.no-hosts' });
    assertProblem(await order({ ports: [22] }), { status: 400, code: 'request.invalid', pointer: '/ports' });
    await at.sshd.stop();
    expect(await scanned()).toMatchObject({ outcome: 'TIMEOUT', facts: { code: 'host.unreachable' } });
    await at.sshd.start();
    expect(await logIn(at, join(field.directory, 'login'), 'root')).toBe('accepted');
  });

  it('is started by a schedule, whose run shows the outcome', async () => {
    const settings = { kind: 'ssh-deep', hosts: [at.id] };
    const order = { name: `nightly ${randomUUID()}`, target: 'discovery-scan', intervalSeconds: 3600, settings };
    const wrong = await field.call('POST', '/api/schedules', {
      ...order,
      settings: { kind: 'ssh-deep', hosts: ['x'] },
    });
    assertProblem(wrong, { status: 400, code: 'request.invalid', pointer: '/settings/hosts' });
    const { id } = await field.ask('POST', '/api/schedules', order);
    await field.ask('POST', `/api/schedules/${id}/run`);
    const run = await until('the run', 40, async () => {
      const [last] = (await field.ask('GET', `/api/schedules/${id}/runs`)).items;
      return !['DUE', 'RUNNING'].includes(last?.status) && last;
    });
    expect(run).toMatchObject({ status: 'SUCCEEDED', detail: expect.stringContaining('1 found') });
  });
});
