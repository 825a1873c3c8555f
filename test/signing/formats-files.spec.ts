import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, type Authority, type Verdict } from '../support/authority.js';
import { type CertifiedStage, extractedData, makeProgram, openCertifiedStage } from '../support/certified-stage.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';

let certified: CertifiedStage;
let authority: Authority;

beforeAll(async () => {
  certified = await openCertifiedStage(['rsa-3072', 'ec-p256']);
  ({ authority } = certified);
});
afterAll(() => certified.close());

const at = (name: string): string => certified.at(name);
const post = (body: Record<string, unknown>): Promise<Answer> =>
  sign(certified.service, { key: certified.apiKey, body });

/** Flips one bit in the middle of the signed content. */
function flip(file: string, marker: string): void {
  const bytes = readFileSync(file);
  const place = bytes.indexOf(marker);
  if (place < 0) throw new Error(`${file} does not hold ${marker}`);
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
  writeFileSync(file, bytes);
}

const MARKER = 'a program that was released';

describe.skipIf(!has('osslsigncode'))('authenticode', () => {
  const kinds = has('msibuild') ? ['exe', 'msi'] : ['exe'];
  const matrix = kinds.flatMap((kind) =>
    ['rsa-3072', 'ec-p256'].flatMap((key) => ['sha256', 'sha384'].map((hash) => ({ kind, key, hash }))),
  );

  const verify = (file: string): Verdict => ask('osslsigncode', ['verify', '-CAfile', authority.root, '-in', file]);

  it.each(matrix)('$kind with $key and $hash: osslsigncode attaches it and verifies', async ({ kind, key, hash }) => {
    const file = at(`program-${key}-${hash}.${kind}`);
    const out = at(`signed-${key}-${hash}.${kind}`);
    makeProgram(kind, file, MARKER);
    const { status, body } = await post({ format: 'authenticode', content: extractedData(file, hash), key });
    expect({ status, body }).toMatchObject({ status: 200, body: { algorithm: hash, format: 'authenticode' } });
    const signature = authority.keep('signature.p7', Buffer.from(body.signature, 'base64'));
    const attached = ask('osslsigncode', [
      'attach-signature',
      '-sigin',
      signature,
      '-CAfile',
      authority.root,
      '-in',
      file,
      '-out',
      out,
    ]);
    expect(attached).toMatchObject({ ok: true });
    const verdict = verify(out);
    expect(verdict).toMatchObject({ ok: true, text: expect.stringContaining('Signature verification: ok') });
    const digest = Buffer.from(body.digest, 'base64').toString('hex').toUpperCase();
    // The request's digest is the file's Authenticode hash.
    expect(verdict.text.replaceAll(/\s/g, '')).toContain(digest);
    flip(out, MARKER);
    expect(verify(out).ok).toBe(false);
  });

  it('requires a digest next to the content to match the file', async () => {
    const file = at('two.exe');
    makeProgram('exe', file, MARKER);
    const content = extractedData(file, 'sha256');
    const other = await post({ format: 'authenticode', content, digest: digestOf('other'), key: 'ec-p256' });
    assertProblem(other, { status: 400, code: 'content.other-digest', pointer: '/content' });
    const { body } = await post({ format: 'authenticode', content, key: 'ec-p256' });
    const same = await post({ format: 'authenticode', content, digest: body.digest, key: 'ec-p256' });
    expect(same.status).toBe(200);
  });
});

describe.skipIf(!has('jarsigner'))('a JAR signature block', () => {
  const STORE = ['-storepass', 'changeit'];

  beforeAll(() => {
    const trust = ['-importcert', '-noprompt', '-alias', 'root', '-file', authority.root];
    execFileSync('keytool', [...trust, '-keystore', at('trust.p12'), ...STORE], { stdio: 'pipe' });
    writeFileSync(at('Main.txt'), MARKER);
    execFileSync('jar', ['cf', at('app.jar'), '-C', authority.directory, 'Main.txt'], { stdio: 'pipe' });
  });

  const verify = (jar: string): Verdict =>
    ask('jarsigner', ['-verify', '-verbose', '-certs', '-keystore', at('trust.p12'), ...STORE, jar]);

  it.each([
    ['rsa-3072', 'RSA', 'RSA'],
    ['ec-p256', 'EC', 'EC'],
  ])('%s: jarsigner accepts it in place of the block of a temporary key', async (key, algorithm, extension) => {
    const keys = ['-keystore', at(`throwaway-${algorithm}.p12`), ...STORE];
    const pair = ['-genkeypair', '-alias', 'throwaway', '-dname', 'CN=throwaway', '-keyalg', algorithm];
    execFileSync('keytool', [...pair, ...keys], { stdio: 'pipe' });
    const jar = at(`${key}.jar`);
    const once = ['-sigfile', 'RELEASE', '-signedjar', jar, at('app.jar'), 'throwaway'];
    execFileSync('jarsigner', [...keys, ...once], { stdio: 'pipe' });
    execFileSync('jar', ['xf', jar, 'META-INF/RELEASE.SF'], { cwd: authority.directory });

    const { status, body } = await post({
      digest: digestOf(readFileSync(at('META-INF/RELEASE.SF'))),
      format: 'cms',
      key,
    });
    expect({ status, body }).toMatchObject({ status: 200 });
    writeFileSync(at(`META-INF/RELEASE.${extension}`), Buffer.from(body.signature, 'base64'));
    execFileSync('jar', ['uf', jar, `META-INF/RELEASE.${extension}`], { cwd: authority.directory });

    const verdict = verify(jar);
    expect(verdict).toMatchObject({ ok: true, text: expect.stringContaining('jar verified.') });
    expect(verdict.text).toContain(`Signed by "CN=${key}, O=Example Ltd"`);
    expect(verdict.text).not.toContain('Invalid certificate chain');
    flip(at('Main.txt'), MARKER);
    execFileSync('jar', ['uf', jar, '-C', authority.directory, 'Main.txt']);
    writeFileSync(at('Main.txt'), MARKER);
    expect(verify(jar).ok).toBe(false);
  });
});
