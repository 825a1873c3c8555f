import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../support/authority.js';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { createKey, type PublishedKey, publishedKey } from '../../support/signing.js';
import { requireApprover, type Voter, voting } from './approving.js';
import { hasTools, ToolBench } from './tool-bench.js';

let certified: CertifiedStage;
let bench: ToolBench;

describe.runIf(hasTools)('sealwright sign with an embedded signature', () => {
  beforeAll(async () => {
    certified = await openCertifiedStage([]);
    const { service, apiKey, authority } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    bench.keep('root.pem', readFileSync(authority.root));
    await certifiedKey(service, apiKey, authority, { name: 'release', type: 'ec-p256', purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'bare', type: 'ec-p256', purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'bare2', type: 'rsa-3072', purpose: 'code-signing' });
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
  ])('%s: embeds a signature that %s accepts', async (file, verifier, args, expected) => {
    bench.makeFiles();
    const run = await bench.run(`sealwright sign ${file} --key release --authorities root.pem -o json`);
    expect(run).toMatchObject({ code: 0, text: expect.stringContaining('"verified": true') });
    const { ok, text } = ask(verifier, args, { cwd: bench.directory });
    expect({ ok, text }).toMatchObject({ ok: true, text: expect.stringContaining(expected) });
    expect(readdirSync(bench.directory).filter((name) => name.startsWith('.sealwright'))).toEqual([]);
  });

  it('keeps a symbolic link pointing to the file, which remains executable', async () => {
    bench.makeFiles();
    const run = await bench.run(
      'chmod 755 app.exe; ln -sf app.exe latest.exe; sealwright sign latest.exe --key release; test -L latest.exe; stat -c %a app.exe',
    );
    expect(run).toMatchObject({ code: 0, text: expect.stringMatching(/^755$/m) });
    expect(ask('osslsigncode', ['verify', '-CAfile', 'root.pem', '-in', 'app.exe'], { cwd: bench.directory }).ok).toBe(true); // prettier-ignore
  });

  it.each([
    ['whatever language jarsigner speaks', 'app.jar', { JAVA_TOOL_OPTIONS: '-Duser.language=de' }],
    ['where no locale is set, as in a build', 'grün 1.jar', { LC_ALL: '', LANG: '' }],
    ['whose name begins as an option does', '-x.jar', {}],
  ])('signs a jar %s', async (_, name, variables) => {
    bench.makeFiles();
    const run = await bench.run(
      `cp -n app.jar './${name}' || true; sealwright sign --key release -- '${name}'`,
      variables,
    );
    expect(run).toMatchObject({ code: 0, text: expect.stringContaining(name) });
  });

  it('signs none of several files if one is missing', async () => {
    bench.makeFiles();
    const before = readFileSync(bench.at('app.exe'));
    const run = await bench.run('sealwright sign app.exe missing.exe --key release');
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining('Cannot read missing.exe') });
    expect(readFileSync(bench.at('app.exe'))).toEqual(before);
  });

  it('shows approvers and policies the file name, not the working path of the tool', async () => {
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
    ['a key without a certificate', '--key bare', 1, 'sealwright certify bare'],
    ['no key', '', 2, '--key'],
    ['authorities that did not issue it', '--key release --authorities other.pem', 1, 'does not contain the authority'],
  ])('%s: reports it, and leaves the file unchanged', async (_, options, code, said) => {
    bench.makeFiles();
    await bench.run(`openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out other.pem -subj /CN=Other`);
    const before = readFileSync(bench.at('app.exe'));
    const run = await bench.run(`sealwright sign app.exe ${options}`);
    expect(run).toMatchObject({ code, text: expect.stringContaining(said) });
    expect(readFileSync(bench.at('app.exe')).equals(before)).toBe(true);
  });

  it('signs a jar with a key without a certificate after certify created one', async () => {
    bench.makeFiles();
    const certify = 'sealwright certify bare2 --common-name Releases --organization "Example Ltd" --out bare.pem';
    expect(await bench.run(certify)).toMatchObject({ code: 0 });
    expect(await bench.run('sealwright sign app.jar --key bare2')).toMatchObject({ code: 0 });
    const keytool = ['-printcert', '-jarfile', 'app.jar'];
    expect(ask('keytool', keytool, { cwd: bench.directory }).text).toContain('Owner: CN=Releases, O=Example Ltd');
    expect(ask('jarsigner', ['-verify', 'app.jar'], { cwd: bench.directory }).text).toContain('jar verified');
  });

  it('reports what to install if the tool is missing', async () => {
    bench.makeFiles();
    const bare = bench.at('bare-path');
    mkdirSync(bare, { recursive: true });
    for (const name of ['sh', 'sealwright'])
      if (!existsSync(`${bare}/${name}`))
        symlinkSync(name === 'sh' ? '/bin/sh' : bench.at('bin/sealwright'), `${bare}/${name}`);
    const run = await bench.run('sealwright sign app.exe --key release', { PATH: bare });
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining('apt install osslsigncode') });
  });

  it('creates a detached signature with --format, as for any other file', async () => {
    bench.makeFiles();
    const before = readFileSync(bench.at('app.exe'));
    expect(await bench.run('sealwright sign app.exe --key release --format raw')).toMatchObject({ code: 0 });
    expect(existsSync(bench.at('app.exe.sig'))).toBe(true);
    expect(readFileSync(bench.at('app.exe')).equals(before)).toBe(true);
  });

  describe('--collect', () => {
    let voter: Voter;

    beforeAll(async () => {
      const { service, apiKey, stage, authority } = certified;
      await certifiedKey(service, apiKey, authority, { name: 'modules', type: 'rsa-3072', purpose: 'code-signing' });
      bench.keep('modules.pub', (await publishedKey(service, apiKey, 'modules')).publicKey);
      const place = { service, apiKey, stage };
      voter = voting(place, await requireApprover(place, ['modules']));
    });
    afterAll(() => voter.stop());

    const names = ['a.ko', 'b.ko', 'drivers/c.ko'];

    it('kernel modules in a directory: one approval lists them all, and openssl accepts each', async () => {
      const contents = new Map(names.map((name) => [name, Buffer.from(`\x7fELF module ${name} ${Math.random()}`)]));
      mkdirSync(bench.at('modules/drivers'), { recursive: true });
      for (const [name, content] of contents) bench.keep(`modules/${name}`, content);
      bench.keep('modules/README', 'is no module');
      const run = await bench.run('sealwright sign modules --key modules --collect -o json');
      expect(run).toMatchObject({ code: 0 });
      expect(voter.voted.map(({ title }) => title)).toEqual([expect.stringMatching(/^Sign 3 files with the key modules: .*a\.ko/)]); // prettier-ignore
      for (const [name, content] of contents) {
        const signed = readFileSync(bench.at(`modules/${name}`));
        // The file ends with a 12-byte descriptor and 28 bytes of magic. The descriptor's last four bytes contain the length of the CMS data.
        const length = signed.readUInt32BE(signed.length - 32);
        expect(signed.subarray(0, signed.length - 40 - length)).toEqual(content);
        const cms = bench.keep('module.p7s', signed.subarray(-40 - length, -40));
        const input = ['-inform', 'DER', '-in', cms, '-content', bench.keep('module', content)];
        const certificate = ['-certfile', bench.keep('module.pem', await chainOf('modules')), '-noverify', '-out', '/dev/null']; // prettier-ignore
        const { text } = ask('openssl', ['cms', '-verify', '-binary', ...input, ...certificate]);
        expect(text).toContain('Verification successful');
      }
    });

    it('exec: a command that runs twice signs everything approved together', async () => {
      for (const name of ['one', 'two']) bench.keep(name, `${name} ${Math.random()}`);
      const dgst = `openssl dgst -engine pkcs11 -keyform engine -sha256 -sign "pkcs11:object=modules;type=private"`;
      const before = voter.voted.length;
      const run = await bench.run(
        `sealwright exec --key modules --collect -- sh -c 'for f in one two; do ${dgst} -out $f.sig $f; done'`,
      );
      expect(run).toMatchObject({ code: 0 });
      expect(voter.voted.length - before).toBe(1);
      for (const name of ['one', 'two'])
        expect(ask('openssl', ['dgst', '-sha256', '-verify', 'modules.pub', '-signature', `${name}.sig`, name], { cwd: bench.directory }).text).toContain('Verified OK'); // prettier-ignore
    });

    it('a tool that signs the time gets no signature in its second run, and nobody is asked again', async () => {
      const before = voter.voted.length;
      const dgst = `openssl dgst -engine pkcs11 -keyform engine -sha256 -sign "pkcs11:object=modules;type=private"`;
      const run = await bench.run(
        `sealwright exec --key modules --collect -- sh -c 'date +%N > now; ${dgst} -out now.sig now'`,
      );
      expect(run.code).not.toBe(0);
      expect(run.text).toContain('a different digest than in the first run');
      expect(voter.voted.length - before).toBe(1);
    });

    it('files of several kinds, and detached signatures: one approval, and every verifier accepts its file', async () => {
      bench.makeFiles();
      bench.keep('notes.txt', `notes ${Math.random()}`);
      bench.keep('SHA256SUMS', `${'0'.repeat(64)}  notes.txt\n`);
      bench.keep('d.ko', Buffer.from(`\x7fELF ${Math.random()}`));
      const before = voter.voted.length;
      const files = 'app.exe app.jar boot.efi d.ko notes.txt SHA256SUMS';
      const run = await bench.run(`sealwright sign ${files} --key modules --authorities root.pem -o json`);
      expect(run).toMatchObject({ code: 0, text: expect.not.stringContaining('ERR_CKR') });
      expect(voter.voted.slice(before).map(({ title }) => title)).toEqual([expect.stringMatching(/^Sign 6 files/)]);
      const checks: [string, string[], string][] = [
        ['osslsigncode', ['verify', '-CAfile', 'root.pem', '-in', 'app.exe'], 'Succeeded'],
        ['jarsigner', ['-verify', 'app.jar'], 'jar verified'],
        ['sbverify', ['--list', 'boot.efi'], 'CN=modules'],
        [
          'openssl',
          ['dgst', '-sha256', '-verify', 'modules.pub', '-signature', 'notes.txt.sig', 'notes.txt'],
          'Verified OK',
        ],
        [
          'openssl',
          ['dgst', '-sha256', '-verify', 'modules.pub', '-signature', 'SHA256SUMS.sig', 'SHA256SUMS'],
          'Verified OK',
        ],
      ];
      for (const [program, args, expected] of checks)
        expect(ask(program, args, { cwd: bench.directory }).text).toContain(expected);
    });

    it('an .apk is signed with the others; its second scheme requires another approval', async () => {
      bench.makeFiles();
      const before = voter.voted.length;
      const run = await bench.run('sealwright sign app.apk app.bin --key modules --collect');
      expect(run).toMatchObject({ code: 0 });
      expect(voter.voted.length - before).toBe(2);
      expect(ask('apksigner', ['verify', '--min-sdk-version', '24', '--verbose', 'app.apk'], { cwd: bench.directory }).text).toContain('v3): true'); // prettier-ignore
    });

    it('nothing is signed if one file cannot be: a checksum list that would become wrong, a broken program', async () => {
      bench.makeFiles();
      bench.keep('SHA256SUMS', `${'0'.repeat(64)}  app.exe\n`);
      const [exe, jar] = [readFileSync(bench.at('app.exe')), readFileSync(bench.at('app.jar'))];
      const listed = await bench.run('sealwright sign app.exe SHA256SUMS --key modules');
      expect(listed).toMatchObject({ code: 2, text: expect.stringContaining('SHA256SUMS lists app.exe') });
      bench.keep('broken.exe', 'not a program');
      const before = voter.voted.length;
      const broken = await bench.run('sealwright sign app.exe app.jar broken.exe --key modules');
      expect(broken).toMatchObject({ code: 1, text: expect.stringContaining('broken.exe is unchanged') });
      expect(voter.voted.length).toBe(before);
      expect(readFileSync(bench.at('app.exe')).equals(exe)).toBe(true);
      expect(readFileSync(bench.at('app.jar')).equals(jar)).toBe(true);
    });
  });

  async function chainOf(name: string): Promise<string> {
    const { service, apiKey } = certified;
    const { certificateId } = (await publishedKey(service, apiKey, name)) as PublishedKey & { certificateId: string };
    const { body } = await service.call('GET', `/api/v1/certificates/${certificateId}`, { key: apiKey });
    return (body.chain as string[]).join('');
  }
});
