import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vote } from '../../approvals/approvers.js';
import type { Approver } from '../../approvals/approvers.js';
import { ask } from '../../support/authority.js';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { until } from '../../support/signing.js';
import { requireApprover } from './approving.js';
import { hasTools, type RunningTool, ToolBench, type ToolRun } from './tool-bench.js';

const SKEWED_CLOCK = join(import.meta.dirname, '../../fakes/skewed-clock.mjs');
const DAY_MS = 24 * 3600 * 1000;
/** Whether this machine allows mounts in a private namespace. */
const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

let certified: CertifiedStage;
let bench: ToolBench;
let approver: Approver;

beforeAll(async () => {
  if (!hasTools) return;
  certified = await openCertifiedStage([]);
  const { service, apiKey, stage, authority } = certified;
  bench = new ToolBench({ url: service.url, token: apiKey });
  bench.keep('root.pem', readFileSync(authority.root));
  await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'rsa-2048', purpose: 'timestamping' });
  for (const name of ['release', 'gated'])
    await certifiedKey(service, apiKey, authority, { name, type: 'rsa-3072', purpose: 'code-signing' });
  approver = await requireApprover({ service, apiKey, stage }, ['gated']);
  await bench.run(`openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out other.pem -subj /CN=Other`);
});
afterAll(async () => {
  if (!hasTools) return;
  bench.remove();
  await certified.close();
});

const inBench = (program: string, args: string[]) => ask(program, args, { cwd: bench.directory }).text;

/** Waits for a pending approval and returns it. */
function waiting(): Promise<{ id: string; shown: { requestId: string; reference: string | null } }> {
  const { service } = certified;
  return until('an approval', 30, async () => {
    const { body } = await service.call('GET', '/api/v1/approvals?waiting=me', { key: approver.accessToken });
    return body.items[0];
  });
}

/** Runs `meanwhile` once an approval is pending, and then approves the request. */
async function decided(running: RunningTool, meanwhile: () => void): Promise<ToolRun & { readonly requestId: string }> {
  const { id, shown } = await waiting();
  meanwhile();
  expect((await vote(certified.service, id, approver)).status).toBe(200);
  return { ...(await running.ended), requestId: shown.requestId };
}

describe.runIf(hasTools)('an option for an embedded signature takes effect', () => {
  it.each([
    ['app.exe', 'osslsigncode', ['verify', '-CAfile', 'root.pem', '-TSA-CAfile', 'root.pem', '-in', 'app.exe'], 'Timestamp Server Signature verification: ok'], // prettier-ignore
    ['app.jar', 'jarsigner', ['-J-Duser.language=en', '-verify', '-verbose', '-certs', 'app.jar'], 'Timestamped by'],
  ])('--timestamp: %s has a timestamp from the service', async (file, program, args, expected) => {
    bench.makeFiles();
    const run = await bench.run(`sealwright sign ${file} --key release --timestamp --authorities root.pem`);
    expect(run).toMatchObject({ code: 0 });
    expect(inBench(program, args)).toContain(expected);
  });

  it.each([
    [
      'app.exe',
      'osslsigncode',
      ['verify', '-CAfile', 'root.pem', '-in', 'app.exe'],
      /Message digest algorithm *: SHA512/,
    ],
    ['app.jar', 'jarsigner', ['-J-Duser.language=en', '-verify', '-verbose', 'app.jar'], /Digest algorithm: SHA-512/],
    ['m.ko', 'sh', ['-c', 'strings -n 3 m.ko >/dev/null; openssl asn1parse -inform DER -in m.p7s'], /sha512/],
  ])('--algorithm sha512: %s', async (file, program, args, expected) => {
    bench.makeFiles();
    bench.keep('m.ko', `\x7fELF ${Math.random()}`);
    const run = await bench.run(`sealwright sign ${file} --key release --algorithm sha512`);
    expect(run).toMatchObject({ code: 0 });
    if (file === 'm.ko') {
      const signed = readFileSync(bench.at(file));
      bench.keep('m.p7s', signed.subarray(-40 - signed.readUInt32BE(signed.length - 32), -40));
    }
    expect(inBench(program, args)).toMatch(expected);
  });

  it('--reference: is stored in the request', async () => {
    bench.makeFiles();
    expect((await bench.run('sealwright sign app.exe --key release --reference build-7')).code).toBe(0);
    const { body } = await certified.service.call('GET', '/api/v1/sign/requests?limit=1', { key: certified.apiKey });
    expect(body.items[0]).toMatchObject({ reference: 'build-7', metadata: { filename: 'app.exe' } });
  });

  it('--wait: times out; a request that the tool would not repeat is withdrawn', async () => {
    bench.makeFiles();
    const began = performance.now();
    const run = await bench.run('sealwright sign app.exe --key gated --wait 1');
    expect(run).toMatchObject({
      code: 1,
      text: expect.stringContaining('was not approved or rejected within 1 seconds'),
    });
    expect(performance.now() - began).toBeLessThan(15_000);
    const { body } = await certified.service.call('GET', '/api/v1/approvals?waiting=me', { key: approver.accessToken });
    expect(body.items).toEqual([]);
  });

  it('--wait: the same command resumes a request that the tool repeats', async () => {
    bench.keep('w.ko', `\x7fELF ${Math.random()}`);
    const run = await bench.run('sealwright sign w.ko --key gated --wait 1');
    expect(run).toMatchObject({ code: 5, text: expect.stringContaining('Repeat the command to continue') });
    const { id } = await waiting();
    expect((await vote(certified.service, id, approver)).status).toBe(200);
    const again = await bench.run('sealwright sign w.ko --key gated --wait 30');
    expect(again).toMatchObject({ code: 0 });
  });

  it.each(['app.exe', 'app.jar', 'app.apk', 'boot.efi', 'a.ko'])(
    '--authorities: %s is not signed by a key they did not certify, and nobody is asked',
    async (file) => {
      bench.makeFiles();
      bench.keep('a.ko', '\x7fELF');
      const before = readFileSync(bench.at(file));
      const run = await bench.run(`sealwright sign ${file} --key gated --authorities other.pem`);
      expect(run).toMatchObject({ code: 1, text: expect.stringContaining('other.pem does not contain the authority') });
      expect(readFileSync(bench.at(file)).equals(before)).toBe(true);
    },
  );
});

describe.runIf(hasTools)('a file that changed during the approval', () => {
  it('is not overwritten by its signed earlier content', async () => {
    bench.makeFiles();
    const running = bench.start('sealwright sign app.exe --key gated --authorities root.pem');
    const run = await decided(running, () => bench.keep('app.exe', 'a new build'));
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining(`The signature of request ${run.requestId} is for the earlier content`) }); // prettier-ignore
    expect(readFileSync(bench.at('app.exe'), 'utf8')).toBe('a new build');
    expect(readdirSync(bench.directory).filter((name) => name.startsWith('.sealwright'))).toEqual([]);
  });

  it.each([
    ['a signature', 'sealwright sign c.bin --key gated --format cms --wait 30', 'c.bin.p7s'],
    ['one of several signatures', 'sealwright sign c.bin d.bin --key gated --wait 30', 'c.bin.sig'],
    [
      'an attestation',
      'sealwright attest c.bin --predicate p.json --key gated --wait 30',
      'c.bin.intoto.sigstore.json',
    ],
  ])('is not given %s that does not match', async (_, line, output) => {
    for (const name of ['c.bin', 'd.bin']) bench.keep(name, `${Math.random()}`);
    bench.keep('p.json', '{}');
    const run = await decided(bench.start(line), () => bench.keep('c.bin', `${Math.random()}, changed`));
    expect(run).toMatchObject({
      code: 1,
      text: expect.stringContaining('c.bin changed after it was hashed for signing'),
    });
    expect(existsSync(bench.at(output))).toBe(false);
  });

  it('is signed if only its timestamps changed', async () => {
    bench.keep('t.bin', 'touched');
    const running = bench.start('sealwright sign t.bin --key gated --wait 30');
    const run = await decided(running, () => bench.keep('t.bin', 'touched'));
    expect(run).toMatchObject({ code: 0 });
  });

  it('is not overwritten if it is the output file', async () => {
    bench.keep('o.bin', 'content');
    const running = bench.start('sealwright sign o.bin --key gated --wait 30');
    const run = await decided(running, () => bench.keep('o.bin.sig', 'of somebody else'));
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining(`belongs to request ${run.requestId}`) });
    expect(readFileSync(bench.at('o.bin.sig'), 'utf8')).toBe('of somebody else');
  });
});

describe.runIf(hasTools)('an expired certificate', () => {
  const later = (days: number) => ({ NODE_OPTIONS: `--import ${SKEWED_CLOCK}`, SKEW_MS: String(days * DAY_MS) });

  it.each([
    ['exec', 'sealwright exec --key release -- true'],
    ['agent', 'sealwright agent --key release'],
    ['sign', 'sealwright sign app.jar --key release'],
    ['sign, several files', 'sealwright sign app.jar app.exe --key release'],
  ])('is rejected by %s', async (_, line) => {
    bench.makeFiles();
    const run = await bench.run(line, later(40));
    expect(run).toMatchObject({ code: 1, text: expect.stringMatching(/The certificate of key "release" expired on \d{4}-\d\d-\d\d\. .*\[certificate\.expired\]/) }); // prettier-ignore
  });

  it('is announced 30 days before, and shown by sealwright keys', async () => {
    const soon = await bench.run('sealwright exec --key release -- true');
    expect(soon.text).toMatch(/^sealwright: the certificate of key release expires on \d{4}-\d\d-\d\d, in 29 days$/m);
    expect((await bench.run('sealwright keys')).text).toMatch(/^release .* certificate until \d{4}-\d\d-\d\d$/m);
    expect((await bench.run('sealwright keys', later(40))).text).toMatch(/^release .* certificate expired on /m);
  });
});

describe.runIf(hasTools)('an output that cannot be written', () => {
  it.each([
    ['a directory', '--out bin', 2, 'bin is a directory'],
    [
      'a folder that is not there',
      '--out nowhere/a.sig',
      1,
      'Cannot write nowhere/a.sig: nowhere does not exist (ENOENT).',
    ],
    ['a full device', '--out /dev/full', 1, 'no space left in /dev (ENOSPC)'],
  ])('%s: the reason is reported on one line', async (_, option, code, said) => {
    bench.keep('app.bin', 'content');
    const run = await bench.run(`sealwright sign app.bin --key release ${option}`);
    expect(run).toMatchObject({ code, text: expect.stringContaining(said) });
    expect(run.text).not.toMatch(/node:|\n +at /);
  });

  it.skipIf(!canMount).each([
    ['a full disk', 'size=4k', 'head -c 100k /dev/zero > full/fill', 'cms', 'no space left in full (ENOSPC)'],
    [
      'a read-only disk',
      'size=64k',
      'mount -o remount,ro none full',
      'cms',
      'full is on a read-only file system (EROFS)',
    ],
    ['a full disk, for a program', 'size=16k', 'head -c 100k /dev/zero > full/fill', undefined, 'full'],
  ])('%s: leaves no empty signature', async (_, size, spoil, format, said) => {
    bench.makeFiles();
    mkdirSync(bench.at('full'), { recursive: true });
    const option = format === undefined ? '' : `--format ${format}`;
    const steps = `mount -t tmpfs -o ${size} none full; head -c 1k app.exe > full/a.exe; { ${spoil}; } 2>&1; sealwright sign full/a.exe --key release ${option}; echo "code $?"; ls -A full`;
    const { text } = await bench.run(`unshare -rm sh -c '${steps}'`);
    expect(text).toContain('code 1');
    expect(text).toContain(said);
    expect(text).not.toMatch(/node:|\n +at |a\.exe\.p7s$|\.sealwright-/m);
  });

  it('remains a pipe if it is one', async () => {
    bench.keep('app.bin', 'content');
    const run = await bench.run('sealwright sign app.bin --key release --out /dev/stdout | wc -c');
    expect(Number(run.text.trim())).toBeGreaterThan(384);
  });
});
