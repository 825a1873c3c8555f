import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { createKey, digestOf, publishedKey } from '../../support/signing.js';
import { requireApprover, type Voter, voting } from './approving.js';
import { hasTools, ToolBench } from './tool-bench.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/tools.md'), 'utf8');

interface Lines {
  readonly tool: string;
  readonly lines: string;
  readonly index: number;
}

/** Returns the shell commands of the PKCS #11 section, by heading. */
function linesOfPage(): Lines[] {
  const [, section = ''] = /^## By PKCS #11$([\s\S]*?)^## /m.exec(PAGE) ?? [];
  return section
    .split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const tool = part.slice(0, part.indexOf('\n'));
      return [...part.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines = ''], index) => ({ tool, lines, index }));
    });
}

const KEYS = [
  { type: 'rsa-3072', guarded: false },
  { type: 'rsa-3072', guarded: true },
  { type: 'ec-p256', guarded: false },
  { type: 'ec-p256', guarded: true },
];
const named = ({ type, guarded }: (typeof KEYS)[number]) => `release-${type.slice(0, 2)}${guarded ? '-guarded' : ''}`;
const CELLS = KEYS.flatMap((key) =>
  linesOfPage()
    .filter(({ tool }) => !tool.endsWith(key.type.startsWith('rsa') ? 'EC key' : 'RSA key'))
    .map(
      (lines) =>
        [
          `${lines.tool} (${lines.index + 1})`,
          `${key.type}${key.guarded ? ', with approval' : ''}`,
          lines,
          key,
        ] as const,
    ),
);

describe.runIf(hasTools)('the lines in docs/tools.md', () => {
  let certified: CertifiedStage;
  let bench: ToolBench;
  let voter: Voter;

  beforeAll(async () => {
    certified = await openCertifiedStage([]);
    const { service, apiKey, authority, stage } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    bench.keep('root.pem', readFileSync(authority.root));
    for (const key of KEYS)
      await certifiedKey(service, apiKey, authority, { name: named(key), type: key.type, purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'login-rs', type: 'rsa-3072', purpose: 'ssh-login' });
    await createKey(service, apiKey, { name: 'login-ec', type: 'ec-p256', purpose: 'ssh-login' });
    const place = { service, apiKey, stage };
    const approver = await requireApprover(place, KEYS.filter(({ guarded }) => guarded).map(named));
    voter = voting(place, approver);
  });
  afterAll(async () => {
    await voter.stop();
    bench.remove();
    await certified.close();
  });

  it('cover every tool', () => {
    const tools = new Set(linesOfPage().map(({ tool }) => tool.split(/[, ]/)[0]));
    expect([...tools]).toEqual([
      'pkcs11-tool',
      'OpenSSL',
      'keytool',
      'osslsigncode',
      'sbsign',
      'apksigner',
      'ssh-keygen',
    ]);
  });

  it.each(CELLS)('%s, %s', async (_, __, { tool, lines }, key) => {
    const { service, apiKey } = certified;
    const name = named(key);
    const known: { id: string; publicKey: string; certificateId?: string } = await publishedKey(service, apiKey, name);
    const certificate = await service.call('GET', `/api/v1/certificates/${known.certificateId}`, { key: apiKey });
    const chain = certificate.body.chain as string[];
    bench.keep('release.pem', chain.join(''));
    bench.keep('issuers.pem', chain.slice(1).join(''));
    bench.keep('release.pub', known.publicKey);
    bench.makeFiles();
    const before = voter.voted.length;
    const script = lines
      .replaceAll(/\brelease\b(?!\.)/g, name)
      .replaceAll('--key login ', `--key login-${key.type.slice(0, 2)} `);
    const run = await bench.run(script);
    expect({ code: run.code, text: run.text }).toMatchObject({ code: 0 });
    if (!key.guarded || tool.startsWith('ssh')) return;
    const votes = voter.voted.slice(before);
    expect(votes.length).toBeGreaterThan(0);
    const program = /-- ([a-z0-9-]+) /.exec(lines.split('\n').findLast((line) => line.includes('exec')) ?? '')?.[1];
    expect(votes[0]?.shown).toMatchObject({ metadata: { saidByClient: { program, protocol: 'pkcs11' } } });
  });

  it('--pin: a tool that requires a login before signing gets one, with any PIN', async () => {
    bench.makeFiles();
    const tool = `pkcs11-tool --module '{module}' --login --pin 1234 --sign --mechanism SHA256-RSA-PKCS -i app.bin -o app.sig`;
    const run = await bench.run(`sealwright exec --key release-rs --pin -- ${tool}`);
    expect(run).toMatchObject({ code: 0 });
    expect((await bench.run(`sealwright exec --key release-rs --pin -- pkcs11-tool --module '{module}' -L`)).text).toContain('login required'); // prettier-ignore
  });

  it('the approved digest is that of the file', async () => {
    bench.makeFiles();
    const file = readFileSync(bench.at('app.bin'));
    await bench.run(
      `sealwright exec --key release-ec-guarded --file-name app.bin -- openssl dgst -engine pkcs11 -keyform engine -sha256 -sign 'pkcs11:object=release-ec-guarded;type=private' -out app.sig app.bin`,
    );
    const vote = voter.voted.at(-1);
    expect(vote?.shown).toMatchObject({ digest: digestOf(file), metadata: { filename: 'app.bin' } });
    expect(vote?.title).toBe('Sign app.bin with the key release-ec-guarded');
  });
});
