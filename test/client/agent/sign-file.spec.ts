import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../support/authority.js';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { createKey } from '../../support/signing.js';
import { hasTools, ToolBench } from './tool-bench.js';

let certified: CertifiedStage;
let bench: ToolBench;

describe.runIf(hasTools)('sealwright sign, for a file that holds its own signature', () => {
  beforeAll(async () => {
    certified = await openCertifiedStage([]);
    const { service, apiKey, authority } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    bench.keep('root.pem', readFileSync(authority.root));
    await certifiedKey(service, apiKey, authority, { name: 'release', type: 'ec-p256', purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'bare', type: 'ec-p256', purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'login', type: 'ec-p256', purpose: 'ssh-login' });
  });
  afterAll(async () => {
    bench.remove();
    await certified.close();
  });

  it.each([
    ['app.exe', 'osslsigncode', ['verify', '-CAfile', 'root.pem', '-in', 'app.exe'], 'Succeeded'],
    ['boot.efi', 'sbverify', ['--list', 'boot.efi'], 'CN=release'],
    ['app.jar', 'jarsigner', ['-verify', 'app.jar'], 'jar verified'],
    ['app.apk', 'apksigner', ['verify', '--verbose', '--min-sdk-version', '24', 'app.apk'], 'Verifies'],
  ])('%s: signed in itself, and %s accepts it', async (file, verifier, args, expected) => {
    bench.makeFiles();
    const run = await bench.run(`sealwright sign ${file} --key release --authorities root.pem -o json`);
    expect(run).toMatchObject({ code: 0, text: expect.stringContaining('"verified": true') });
    const { ok, text } = ask(verifier, args, { cwd: bench.directory });
    expect({ ok, text }).toMatchObject({ ok: true, text: expect.stringContaining(expected) });
    expect(readdirSync(bench.directory).filter((name) => name.startsWith('.sealwright'))).toEqual([]);
  });

  it('approvers and policies are told the name of the file, and not where the tool worked on it', async () => {
    bench.makeFiles();
    await bench.run('sealwright sign app.exe --key release');
    const { body } = await certified.service.call('GET', '/api/v1/sign/requests?limit=1', { key: certified.apiKey });
    expect(body.items[0].metadata).toMatchObject({
      filename: 'app.exe',
      saidByClient: { program: 'osslsigncode', commandLine: 'sealwright sign app.exe (osslsigncode)' },
    });
  });

  it.each([
    ['a key for something else', '--key login', 2, 'is for ssh-login'],
    ['a key without a certificate', '--key bare', 1, 'has no certificate'],
    ['no key', '', 2, '--key'],
    ['authorities that did not issue it', '--key release --authorities other.pem', 1, 'does not accept'],
  ])('%s: says so, and the file is as it was', async (_, options, code, said) => {
    bench.makeFiles();
    await bench.run(`openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out other.pem -subj /CN=Other`);
    const before = readFileSync(bench.at('app.exe'));
    const run = await bench.run(`sealwright sign app.exe ${options}`);
    expect(run).toMatchObject({ code, text: expect.stringContaining(said) });
    expect(readFileSync(bench.at('app.exe')).equals(before)).toBe(true);
  });

  it('without the tool it says what to install', async () => {
    bench.makeFiles();
    const bare = bench.at('bare-path');
    mkdirSync(bare, { recursive: true });
    for (const name of ['sh', 'sealwright'])
      if (!existsSync(`${bare}/${name}`))
        symlinkSync(name === 'sh' ? '/bin/sh' : bench.at('bin/sealwright'), `${bare}/${name}`);
    const run = await bench.run('sealwright sign app.exe --key release', { PATH: bare });
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining('apt install osslsigncode') });
  });

  it('with --format the signature is detached, as for every other file', async () => {
    bench.makeFiles();
    const before = readFileSync(bench.at('app.exe'));
    expect(await bench.run('sealwright sign app.exe --key release --format raw')).toMatchObject({ code: 0 });
    expect(existsSync(bench.at('app.exe.sig'))).toBe(true);
    expect(readFileSync(bench.at('app.exe')).equals(before)).toBe(true);
  });
});
