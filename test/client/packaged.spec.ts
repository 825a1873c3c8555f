import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packClient } from '../../scripts/lib/client-package.mjs';
import { has } from '../support/peers.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import { runTool } from '../support/tools.js';

/** The system's Node.js 20, which is too old to run the service. */
const NODE20 = '/usr/bin/node';
const isOlder = (() => {
  try {
    return execFileSync(NODE20, ['--version'], { encoding: 'utf8' }).startsWith('v20.');
  } catch {
    return false;
  }
})();

const hasJava =
  has('jarsigner') && existsSync('/usr/lib') && readdirSync('/usr/lib').some((name) => existsSync(join('/usr/lib', name, 'pkcs11/p11-kit-client.so'))); // prettier-ignore

let certified: CertifiedStage;
let home: string;
let packages: { npm: string; deb: string };
let env: Record<string, string>;

beforeAll(async () => {
  packages = await packClient();
  certified = await openCertifiedStage(['ec-p256']);
  const { service, apiKey } = certified;
  home = mkdtempSync(join(tmpdir(), 'sealwright-packaged-'));
  // Runs npm without a registry, so the package must be self-contained.
  const offline = { npm_config_offline: 'true', npm_config_cache: join(home, 'cache'), npm_config_audit: 'false' };
  env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    SEALWRIGHT_URL: service.url,
    SEALWRIGHT_TOKEN: apiKey,
    ...offline,
  };
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await certified.close();
});

/** Returns the npx arguments that run a program from a package file. */
const npx = (): string[] => ['--yes', '--package', packages.npm, 'sealwright'];

describe('the npm package of the client', () => {
  it('contains one program and no dependencies', () => {
    const listed = execFileSync('tar', ['-tzf', packages.npm], { encoding: 'utf8' }).trim().split('\n');
    expect(listed.toSorted()).toEqual(
      ['LICENSE', 'README.md', 'package.json', 'sealwright.js'].map((file) => `package/${file}`),
    );
    const manifest = JSON.parse(
      execFileSync('tar', ['-xzOf', packages.npm, 'package/package.json'], { encoding: 'utf8' }),
    );
    expect(manifest).toMatchObject({ bin: { sealwright: 'sealwright.js' }, engines: { node: '>=20' } });
    expect(manifest.dependencies).toBeUndefined();
    expect(manifest.gitHead).toMatch(/^[0-9a-f]{12}(\.modified)?$/);
  });

  it('signs with npx in an empty directory, without internet access', async () => {
    const cwd = join(home, 'empty');
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, 'file'), 'content');
    const signed = await runTool('npx', [...npx(), 'sign', 'file'], { env, cwd });
    expect(signed).toMatchObject({ code: 0 });
    const version = await runTool('npx', [...npx(), '--version'], { env, cwd });
    expect(version.out.toString()).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{12}/);
    expect(readFileSync(join(cwd, 'file.sig')).length).toBeGreaterThan(60);
  });

  it.skipIf(!hasJava)('signs a jar on a fresh machine: one login with npx, one jarsigner', async () => {
    const cwd = join(home, 'java');
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, 'Main.txt'), 'a program');
    execFileSync('jar', ['cf', 'app.jar', 'Main.txt'], { cwd });
    const { SEALWRIGHT_URL: url = '', SEALWRIGHT_TOKEN: token = '', ...bare } = env;
    const started = performance.now();
    const login = [...npx(), 'login', '--url', url, '--api-key'];
    expect(await runTool('npx', login, { env: bare, cwd, input: `${token}\n` })).toMatchObject({ code: 0 });
    const store = ['-keystore', 'NONE', '-storetype', 'PKCS11', '-storepass', 'any'];
    const jarsigner = [
      'jarsigner',
      ...store,
      '-addprovider',
      'SunPKCS11',
      '-providerArg',
      '{java}',
      'app.jar',
      'ec-p256',
    ];
    const args = [...npx(), 'exec', '--key', 'ec-p256', '--', ...jarsigner];
    expect(await runTool('npx', args, { env: bare, cwd })).toMatchObject({ code: 0 });
    const seconds = (performance.now() - started) / 1000;
    const verified = await runTool('jarsigner', ['-verify', 'app.jar'], { env: bare, cwd });
    expect(verified.out.toString()).toContain('jar verified');
    process.stdout.write(`login and a signed jar by npx: ${seconds.toFixed(1)} s\n`);
  });

  it.skipIf(!isOlder)('runs on Node 20', async () => {
    const place = join(home, 'unpacked');
    mkdirSync(place);
    execFileSync('tar', ['-xzf', packages.npm, '-C', place]);
    const program = join(place, 'package/sealwright.js');
    writeFileSync(join(home, 'file20'), 'content');
    for (const args of [['help'], ['keys'], ['sign', join(home, 'file20')], ['verify', join(home, 'file20')]])
      expect(await runTool(NODE20, [program, ...args], { env, cwd: home })).toMatchObject({ code: 0 });
  });
});

describe.skipIf(!has('dpkg-deb'))('the .deb of the client', () => {
  it('contains the program, its wrappers and its dependencies', async () => {
    const control = execFileSync('dpkg-deb', ['--field', packages.deb], { encoding: 'utf8' });
    expect(control).toMatch(/^Depends: nodejs \(>= 20\) \| sealwright$/m);
    const root = join(home, 'root');
    execFileSync('dpkg-deb', ['--extract', packages.deb, root]);
    const started = await runTool(process.execPath, [join(root, 'usr/lib/sealwright/sealwright.js'), 'keys'], {
      env,
      cwd: home,
    });
    expect(started).toMatchObject({ code: 0, out: expect.anything() });
    expect(started.out.toString()).toContain('default');
    for (const program of [
      'usr/bin/sealwright',
      'usr/bin/notation-sealwright',
      'usr/lib/sealwright/gpg',
      'usr/lib/sealwright/gpgconf',
    ])
      expect(execFileSync('sh', ['-n', join(root, program)], { encoding: 'utf8' })).toBe('');
  });

  it('is reproducible, even with another umask', () => {
    const first = readFileSync(packages.deb);
    const script = join(import.meta.dirname, '../../scripts/client-package.mjs');
    execFileSync('sh', ['-c', 'umask 077 && exec "$0" "$1"', process.execPath, script], { stdio: 'pipe' });
    expect(readFileSync(packages.deb).equals(first)).toBe(true);
  });
});
