import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { derElements, elementsOfSequence } from '../../../src/formats/asn1/der-reader.js';
import { newApiKey } from '../../support/access.js';
import { ask } from '../../support/authority.js';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { has } from '../../support/peers.js';
import { requireApprover, type Voter, voting } from './approving.js';
import { hasTools, ToolBench } from './tool-bench.js';

/**
 * Set SW_TEST_JSIGN to use a jsign outside PATH: `SW_TEST_JSIGN=/opt/jsign/jsign npm test -- test/client/agent/sign-scripts.spec.ts`. Without jsign, the cases
 * are not generated instead of being skipped, because CI does not allow skipped tests and no distribution packages jsign.
 */
const NAMED = process.env['SW_TEST_JSIGN'];
const ON_PATH = has('jsign') ? ['jsign'] : [];
const JSIGNS = NAMED === undefined ? ON_PATH : [NAMED];

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/tools.md'), 'utf8');
const BEGIN = 'Begin signature block';
const CONTENTS: Readonly<Record<string, (text: string) => string>> = {
  'a.ps1': (text) => `Write-Host "${text}"\r\n`,
  'grün 1.ps1': (text) => `\uFEFFWrite-Host "grün ${text}"\r\n`,
  'a.psm1': (text) => `function Get-It { "${text}" }\r\n`,
  'a.psd1': (text) => `@{ ModuleVersion = '1.0'; Description = '${text}' }\r\n`,
  'a.ps1xml': (text) => `<?xml version="1.0"?>\r\n<Types><!-- ${text} --></Types>\r\n`,
  'a.vbs': (text) => `WScript.Echo "${text}"\r\n`,
  'a.wsf': (text) => `<job>\r\n<script language="JScript">\r\nWScript.Echo("${text}");\r\n</script>\r\n</job>\r\n`,
};
const CHECKED = Object.keys(CONTENTS).filter((name) => name.includes('.ps'));
const UNCHECKED = Object.keys(CONTENTS).filter((name) => !name.includes('.ps'));

const KEYS = [
  { name: 'scripts-rsa', type: 'rsa-3072', guarded: false },
  { name: 'scripts-ec', type: 'ec-p256', guarded: false },
  { name: 'scripts-rsa-guarded', type: 'rsa-3072', guarded: true },
  { name: 'scripts-ec-guarded', type: 'ec-p384', guarded: true },
];

let certified: CertifiedStage;
let bench: ToolBench;
let voter: Voter;

describe.runIf(hasTools)('sealwright sign for Windows scripts', () => {
  beforeAll(async () => {
    certified = await openCertifiedStage([]);
    const { service, apiKey, authority, stage } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    bench.keep('root.pem', readFileSync(authority.root));
    if (NAMED !== undefined) symlinkSync(NAMED, bench.at('bin/jsign'));
    for (const { name, type } of [...KEYS, { name: 'scripts-rejected', type: 'ec-p256' }])
      await certifiedKey(service, apiKey, authority, { name, type, purpose: 'code-signing' });
    const place = { service, apiKey, stage };
    voter = voting(place, await requireApprover(place, KEYS.filter(({ guarded }) => guarded).map(({ name }) => name))); // prettier-ignore
  });
  afterAll(async () => {
    await voter.stop();
    bench.remove();
    await certified.close();
  });

  it('reports where to get jsign if it is missing, and asks nobody', async () => {
    const bare = bench.at('bare-path');
    rmSync(bare, { recursive: true, force: true });
    mkdirSync(bare);
    symlinkSync('/bin/sh', `${bare}/sh`);
    symlinkSync(bench.at('bin/sealwright'), `${bare}/sealwright`);
    makeScripts();
    const run = await bench.run('sealwright sign a.ps1 --key scripts-ec', { PATH: bare });
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining('https://github.com/ebourg/jsign/releases') });
    expect(readFileSync(bench.at('a.ps1'), 'utf8')).not.toContain(BEGIN);
  });

  describe.each(JSIGNS)('with %s', () => {
    it.each(KEYS)('$name ($type): PowerShell, verified by osslsigncode', async ({ name, guarded }) => {
      makeScripts();
      for (const file of CHECKED) {
        const before = voter.voted.length;
        const content = readFileSync(bench.at(file));
        const run = await bench.run(`sealwright sign '${file}' --key ${name} --authorities root.pem -o json`);
        expect(run).toMatchObject({ code: 0, text: expect.stringContaining('"verified": true') });
        expect(isAccepted(file)).toBe(true);
        const signed = readFileSync(bench.at(file));
        expect(signed.subarray(0, content.length)).toEqual(content);
        expect(signed.toString('utf8', content.length)).toContain(BEGIN);
        const titles = voter.voted.slice(before).map(({ title }) => title);
        expect(titles).toEqual(guarded ? [`Sign ${file} with the key ${name}`] : []);
      }
      expect(readdirSync(bench.directory).filter((one) => one.startsWith('.sealwright'))).toEqual([]);
    });

    it('detects a modified script', async () => {
      makeScripts();
      await bench.run('sealwright sign a.ps1 --key scripts-ec --authorities root.pem');
      expect(isAccepted('a.ps1')).toBe(true);
      bench.keep('a.ps1', readFileSync(bench.at('a.ps1'), 'utf8').replace('Write-Host', 'Write-Hose'));
      expect(isAccepted('a.ps1')).toBe(false);
    });

    it('replaces the signature of a signed script', async () => {
      makeScripts();
      for (const key of ['scripts-rsa', 'scripts-ec'])
        expect(await bench.run(`sealwright sign a.ps1 --key ${key} --authorities root.pem`)).toMatchObject({ code: 0 });
      expect(readFileSync(bench.at('a.ps1'), 'utf8').split(BEGIN)).toHaveLength(2);
      const { text } = ask('osslsigncode', ['verify', '-CAfile', 'root.pem', '-in', 'a.ps1'], { cwd: bench.directory });
      expect(text).toContain('CN=scripts-ec');
      expect(text).not.toContain('CN=scripts-rsa');
    });

    it.each(UNCHECKED)('%s: signed with the key, and reported as unverified', async (file) => {
      makeScripts();
      const run = await bench.run(`sealwright sign ${file} --key scripts-rsa --authorities root.pem -o json`);
      expect(run).toMatchObject({ code: 0, text: expect.stringContaining('"verified": false') });
      expect(run.text).toContain(`${file} was not verified: osslsigncode does not support such files`);
      const { signature, content } = signatureOf(readFileSync(bench.at(file), 'latin1'));
      bench.keep('script.p7', signature);
      bench.keep('script.content', content);
      const input = ['-inform', 'DER', '-in', 'script.p7', '-content', 'script.content'];
      const trust = ['-CAfile', 'root.pem', '-purpose', 'any', '-out', '/dev/null'];
      const { text } = ask('openssl', ['smime', '-verify', '-binary', ...input, ...trust], { cwd: bench.directory });
      expect(text).toContain('Verification successful');
    });

    it('--collect: scripts in a directory are signed under one approval', async () => {
      mkdirSync(bench.at('module/en'), { recursive: true });
      const files = ['module/a.psm1', 'module/a.psd1', 'module/en/b.ps1'];
      for (const file of files) bench.keep(file, `# ${process.hrtime.bigint()}\r\n`);
      bench.keep('module/web.js', 'let a = 1;\n');
      const before = voter.voted.length;
      const run = await bench.run(
        'sealwright sign module --key scripts-ec-guarded --authorities root.pem --collect -o json',
      );
      expect(run).toMatchObject({ code: 0 });
      expect(voter.voted.slice(before).map(({ title }) => title)).toEqual([expect.stringMatching(/^Sign 3 files with the key scripts-ec-guarded: /)]); // prettier-ignore
      for (const file of files) expect(isAccepted(file)).toBe(true);
      expect(readFileSync(bench.at('module/web.js'), 'utf8')).toBe('let a = 1;\n');
    });

    it('leaves the script unchanged and makes jsign fail after a rejection', async () => {
      makeScripts();
      const { service, apiKey, stage } = certified;
      const place = { service, apiKey, stage };
      const against = voting(place, await requireApprover(place, ['scripts-rejected']), 'reject');
      const before = readFileSync(bench.at('a.ps1'));
      const run = await bench.run('sealwright sign a.ps1 --key scripts-rejected --authorities root.pem');
      await against.stop();
      expect(against.voted).toHaveLength(1);
      expect(run).toMatchObject({ code: 1, text: expect.stringContaining('jsign failed') });
      expect(readFileSync(bench.at('a.ps1'))).toEqual(before);
    });

    describe('before people are asked', () => {
      it.each([
        ['Unix line ends', 'Write-Host "a"\n', 'unix2dos'],
        ['no byte order mark', 'Write-Host "grün"\r\n', 'byte order mark'],
      ])('a script with %s is rejected', async (_, content, said) => {
        bench.keep('odd.ps1', content);
        const before = voter.voted.length;
        const run = await bench.run('sealwright sign odd.ps1 --key scripts-ec-guarded');
        expect(run).toMatchObject({ code: 1, text: expect.stringContaining(said) });
        expect(readFileSync(bench.at('odd.ps1'), 'utf8')).toBe(content);
        expect(voter.voted).toHaveLength(before);
      });

      it('a verifier too old for scripts is rejected', async () => {
        makeScripts();
        mkdirSync(bench.at('old'), { recursive: true });
        if (!existsSync(bench.at('old/osslsigncode')))
          chmodSync(bench.keep('old/osslsigncode', '#!/bin/sh\necho "osslsigncode 2.5, using:"\n'), 0o755);
        const before = voter.voted.length;
        const run = await bench.run('sealwright sign a.ps1 --key scripts-ec-guarded --authorities root.pem', {
          PATH: `${bench.at('old')}:${bench.path}`,
        });
        expect(run).toMatchObject({ code: 1, text: expect.stringContaining('osslsigncode 2.8 or later; this machine has 2.5') }); // prettier-ignore
        expect(voter.voted).toHaveLength(before);
      });
    });

    it('exec: jsign uses the named key of several, and a timestamp from the service', async () => {
      const { service, apiKey, authority } = certified;
      await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'rsa-2048', purpose: 'timestamping' });
      const { key } = await newApiKey(service, apiKey, ['timestamps:issue']);
      makeScripts();
      const line = /^sealwright exec --key release -- (jsign .*)$/m.exec(PAGE)?.[1] ?? '';
      const jsign = line.replace('release', 'scripts-ec').replace('https://sign.example.org/tsa', `${service.url}/tsa/${key}`); // prettier-ignore
      expect(await bench.run(`sealwright exec --key scripts-rsa,scripts-ec -- ${jsign}`)).toMatchObject({ code: 0 });
      const authorities = ['-CAfile', 'root.pem', '-TSA-CAfile', 'root.pem'];
      const { text } = ask('osslsigncode', ['verify', ...authorities, '-in', 'a.ps1'], { cwd: bench.directory });
      expect(text).toContain('Succeeded');
      expect(text).toContain('CN=scripts-ec');
      expect(text).toContain('Timestamp verified using');
      expect(text).toMatch(/CN=tsa$/m);
    });
  });
});

function makeScripts(): void {
  for (const [name, content] of Object.entries(CONTENTS)) bench.keep(name, content(`${process.hrtime.bigint()}`));
}

function isAccepted(name: string): boolean {
  const { ok, text } = ask('osslsigncode', ['verify', '-CAfile', 'root.pem', '-in', name], { cwd: bench.directory });
  return ok && text.includes('Succeeded');
}

const NOTHING = Buffer.alloc(0);

/**
 * Returns the PKCS #7 signature of a Windows Script Host script, and the signed content: the contents of SpcIndirectDataContent, which openssl does not
 * extract.
 */
function signatureOf(script: string): { signature: Buffer; content: Buffer } {
  const lines = script.matchAll(/ SIG (?:''|\*\*) ([A-Za-z0-9+/=]+)\r$/gm);
  const signature = Buffer.from([...lines].map(([, line]) => line).join(''), 'base64');
  const [, inSignature] = elementsOfSequence(signature);
  const [signedData] = derElements(inSignature?.contents ?? NOTHING);
  const [, , contentInfo] = derElements(signedData?.contents ?? NOTHING);
  const [, inContent] = derElements(contentInfo?.contents ?? NOTHING);
  const [indirect] = derElements(inContent?.contents ?? NOTHING);
  return { signature, content: indirect?.contents ?? NOTHING };
}
