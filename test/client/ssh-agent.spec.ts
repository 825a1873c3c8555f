import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Approver, newApprovers, newGroup, unique, vote } from '../approvals/approvers.js';
import { has } from '../support/peers.js';
import type { Service } from '../support/service.js';
import { createKey, type PublishedKey, read, until } from '../support/signing.js';
import { canRunSshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';
import { runTool, type ToolEnd, type ToolOptions } from '../support/tools.js';
import { waitingRequest } from './openpgp-keys.js';

const PROGRAM = join(import.meta.dirname, '../../dist/sealwright.js');

let stage: Stage;
let service: Service;
let apiKey: string;
let home: string;
let env: Record<string, string>;
let stop: () => Promise<void>;
const lines = new Map<string, string>();
const approvers = new Map<string, Approver>();

/** Type and purpose of each key, by name. */
const KEYS = {
  'rsa-signatures': ['rsa-3072', 'ssh-signatures'],
  'ec-signatures': ['ec-p256', 'ssh-signatures'],
  'rsa-login': ['rsa-3072', 'ssh-login'],
  'ec-login': ['ec-p384', 'ssh-login'],
  'guarded-signatures': ['ec-p256', 'ssh-signatures'],
  'guarded-login': ['ec-p256', 'ssh-login'],
  'code-key': ['ec-p256', 'code-signing'],
  'pgp-key': ['ec-p256', 'openpgp'],
} as const;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  home = mkdtempSync(join(tmpdir(), 'sealwright-ssh-'));
  for (const [name, [type, purpose]] of Object.entries(KEYS))
    lines.set(name, sshLine(await createKey(service, apiKey, { name, type, purpose })));
  for (const name of ['guarded-signatures', 'guarded-login']) approvers.set(name, await guard(name));
  const socket = join(home, 'run', 'ssh');
  env = { PATH: process.env['PATH'] ?? '', HOME: home, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey };
  const agent = spawn(process.execPath, [PROGRAM, 'agent', '--protocol', 'ssh-agent', '--ssh-socket', socket], {
    env,
    stdio: 'pipe',
  });
  stop = async () => {
    agent.kill('SIGTERM');
    await once(agent, 'close');
  };
  await until('the socket of the agent', 20, async () => existsSync(socket));
  env = { PATH: process.env['PATH'] ?? '', HOME: home, SSH_AUTH_SOCK: socket };
});
afterAll(async () => {
  await stop();
  rmSync(home, { recursive: true, force: true });
  await stage.close();
});

/** Converts the public key to OpenSSH format with ssh-keygen. */
function sshLine({ name, publicKey }: PublishedKey): string {
  const file = join(home, `${name}.pem`);
  writeFileSync(file, publicKey, { mode: 0o600 });
  const line = execFileSync('ssh-keygen', ['-i', '-m', 'PKCS8', '-f', file], { encoding: 'utf8' }).trim();
  writeFileSync(join(home, `${name}.pub`), `${line} ${name}\n`);
  return line;
}

async function guard(name: string): Promise<Approver> {
  const place = { stage, service, apiKey };
  const [approver] = (await newApprovers(place, 1)) as [Approver];
  const group = await newGroup(place, [approver]);
  const body = { name: unique('policy'), keys: [name], stages: [{ group: group.body.id, threshold: 1 }] };
  const policy = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body });
  expect(policy.status).toBe(201);
  return approver;
}

function voterOf(name: string): Approver {
  const voter = approvers.get(name);
  if (voter === undefined) throw new Error(`nobody approves ${name}`);
  return voter;
}

const run = (program: string, args: readonly string[], options: Partial<ToolOptions> = {}): Promise<ToolEnd> =>
  runTool(program, args, { env, cwd: home, ...options });

const at = (name: string): string => join(home, name);

/** Signs a file and returns the result of ssh-keygen. */
function signFile(key: string, file: string, namespace = 'file'): Promise<ToolEnd> {
  rmSync(`${file}.sig`, { force: true });
  return run('ssh-keygen', ['-Y', 'sign', '-f', at(`${key}.pub`), '-n', namespace, file]);
}

function verifyFile(key: string, file: string, namespace = 'file'): Promise<ToolEnd> {
  writeFileSync(at('allowed'), `a@b.example ${lines.get(key)}\n`);
  const args = ['-Y', 'verify', '-f', at('allowed'), '-I', 'a@b.example', '-n', namespace, '-s', `${file}.sig`];
  return run('ssh-keygen', args, { input: readFileSync(file) });
}

describe('ssh-add -l', () => {
  it('lists only the keys for SSH', async () => {
    const { out } = await run('ssh-add', ['-L']);
    const names = new Set(out.toString().trim().split('\n').map((line) => line.split(' ')[2])); // prettier-ignore
    expect(names).toEqual(new Set(Object.keys(KEYS).filter((name) => name.includes('login') || name.includes('signatures')))); // prettier-ignore
  });
});

describe('ssh-keygen -Y sign', () => {
  it.each(['rsa-signatures', 'ec-signatures'])(
    '%s: ssh-keygen -Y verify accepts it for this file and namespace only',
    async (key) => {
      const file = at(`${key}.txt`);
      writeFileSync(file, 'signed by ssh');
      expect(await signFile(key, file)).toMatchObject({ code: 0 });
      expect((await verifyFile(key, file)).code).toBe(0);
      expect((await verifyFile(key, file, 'git')).code).not.toBe(0);
      writeFileSync(file, 'signed by ssH');
      expect((await verifyFile(key, file)).code).not.toBe(0);
    },
  );

  it('shows approvers the namespace and the hash, and signs after approval', async () => {
    const file = at('guarded.txt');
    writeFileSync(file, 'to be approved');
    const ending = signFile('guarded-signatures', file, 'release');
    const { approvalId, requestId } = await waitingRequest({ service, apiKey }, 'guarded-signatures');
    const request = await service.call('GET', `/api/v1/sign/requests/${requestId}`, { key: apiKey });
    expect(JSON.stringify(request.body.metadata)).toContain('"namespace":"release"');
    const voter = voterOf('guarded-signatures');
    await vote(service, approvalId, voter);
    expect(await ending).toMatchObject({ code: 0 });
    expect((await verifyFile('guarded-signatures', file, 'release')).code).toBe(0);
  });

  it('rejected: ssh-keygen fails, and nothing is signed afterwards', async () => {
    const file = at('rejected.txt');
    writeFileSync(file, 'to be rejected');
    const ending = signFile('guarded-signatures', file);
    const { approvalId, requestId } = await waitingRequest({ service, apiKey }, 'guarded-signatures');
    const voter = voterOf('guarded-signatures');
    await vote(service, approvalId, voter, { decision: 'reject', body: { comment: 'No.' } });
    expect((await ending).code).not.toBe(0);
    expect(existsSync(`${file}.sig`)).toBe(false);
    expect((await read(service, apiKey, requestId)).body).toMatchObject({
      status: 'FAILED',
      failure: { code: 'approval.rejected' },
    });
  });

  it('killed: the request is withdrawn', async () => {
    const file = at('killed.txt');
    writeFileSync(file, 'to be killed');
    let kill: () => void = () => undefined;
    const args = ['-Y', 'sign', '-f', at('guarded-signatures.pub'), '-n', 'file', file];
    const ending = run('ssh-keygen', args, { started: (child) => void (kill = () => child.kill('SIGKILL')) });
    const { requestId } = await waitingRequest({ service, apiKey }, 'guarded-signatures');
    kill();
    await ending;
    expect((await read(service, apiKey, requestId, 20)).body).toMatchObject({
      failure: { code: 'approval.withdrawn' },
    });
  });
});

describe.skipIf(!has('git'))('git with gpg.format=ssh', () => {
  it.each(['rsa-signatures', 'ec-signatures'])('verifies commits and tags signed by %s', async (key) => {
    const directory = at(`git-${key}`);
    mkdirSync(directory);
    writeFileSync(at('signers'), `a@b.example ${lines.get(key)}\n`);
    const git = (...args: string[]) => run('git', args, { cwd: directory });
    await git('init', '-q');
    const settings = { 'user.name': 'A', 'user.email': 'a@b.example', 'gpg.format': 'ssh', 'user.signingkey': at(`${key}.pub`), 'gpg.ssh.allowedSignersFile': at('signers') }; // prettier-ignore
    for (const [name, value] of Object.entries(settings)) await git('config', name, value);
    expect(await git('commit', '-q', '--allow-empty', '-S', '-m', 'signed')).toMatchObject({ code: 0 });
    expect(await git('tag', '-s', 'v1', '-m', 'signed')).toMatchObject({ code: 0 });
    expect((await git('verify-commit', 'HEAD')).err).toContain('Good "git" signature');
    expect((await git('verify-tag', 'v1')).err).toContain('Good "git" signature');
  });
});

describe.skipIf(!canRunSshd())('ssh', () => {
  const login = (key: string, { address, port }: { address: string; port: number }) => {
    const options = ['-F', 'none', '-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${at('known')}`, '-o', 'IdentitiesOnly=yes', '-o', 'PreferredAuthentications=publickey']; // prettier-ignore
    return run('ssh', [...options, '-i', at(`${key}.pub`), '-p', String(port), `deploy@${address}`, 'echo', 'in']);
  };

  it('logs in with login keys, but not with signature keys', async () => {
    const sshd = await startSshd();
    try {
      for (const line of lines.values()) sshd.authorize('deploy', line);
      expect((await login('rsa-login', sshd)).out.toString()).toBe('in\n');
      expect((await login('ec-login', sshd)).out.toString()).toBe('in\n');
      for (const key of ['rsa-signatures', 'ec-signatures', 'code-key'])
        expect((await login(key, sshd)).code).toBe(255);
      const ending = login('guarded-login', sshd);
      const { approvalId } = await waitingRequest({ service, apiKey }, 'guarded-login');
      await vote(service, approvalId, voterOf('guarded-login'));
      expect((await ending).out.toString()).toBe('in\n');
    } finally {
      await sshd.close();
    }
  });

  it('does not let a login key sign files', async () => {
    const file = at('login.txt');
    writeFileSync(file, 'x');
    for (const key of ['rsa-login', 'ec-login', 'code-key', 'pgp-key'])
      expect((await signFile(key, file)).code).not.toBe(0);
  });
});
