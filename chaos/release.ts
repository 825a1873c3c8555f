import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- release
 * Creates a release twice, in two clones at different paths and at different times, both signed by a running Sealwright. The files of both releases must be
 * identical, and openssl must verify all signatures. A release from a commit that does not match the version must be refused without leaving any files behind.
 */
const ROOT = join(import.meta.dirname, '..');
const VERSION = '99.0.0';
const findings = new Findings();
const { say, conclude } = findings;
/** Records a check. `output` is shown only if the check fails. */
function check(what: string, holds: boolean, output = ''): void {
  findings.check(what, holds, holds ? '' : output.slice(0, 2000));
}

const git = (at: string, ...args: string[]) => {
  const who = ['-c', 'user.name=Release', '-c', 'user.email=release@sealwright.invalid'];
  return execFileSync('git', ['-C', at, ...who, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
};

/** Creates a clone whose last commit is the release commit described in docs/releases.md. */
function clone(place: string): string {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, place], { stdio: 'pipe' });
  for (const name of ['node_modules', 'ui/node_modules'])
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(place, name));
  return place;
}

function setVersion(place: string): void {
  for (const name of ['package.json', 'package-lock.json']) {
    const file = join(place, name);
    const content = JSON.parse(readFileSync(file, 'utf8')) as {
      version: string;
      packages?: Record<string, { version: string }>;
    };
    content.version = VERSION;
    const own = content.packages?.[''];
    if (own !== undefined) own.version = VERSION;
    writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  }
  const changelog = join(place, 'CHANGELOG.md');
  const text = readFileSync(changelog, 'utf8').replace('## Unreleased', `## Unreleased\n\n## ${VERSION} - 2026-11-26`);
  writeFileSync(changelog, text);
  git(place, 'commit', '--quiet', '--all', '--message', `release: ${VERSION}`);
}

const stage = await openStage();
const place = mkdtempSync(join(tmpdir(), 'sealwright-releases-'));
try {
  const { apiKey } = await stage.seed();
  const service = await stage.start();
  const env = { ...process.env, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey };
  const release = (at: string, out: string) => {
    const args = [join(at, 'scripts/release.mjs'), VERSION, '--out', out, '--key', 'default'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: at, env, encoding: 'utf8' });
    return { status, said: `${stdout}${stderr}` };
  };
  const first = clone(join(place, 'one'));
  const early = release(first, join(place, 'early'));
  check(
    'a commit of another version is refused',
    early.status === 1 && early.said.includes('is not that of'),
    early.said,
  );
  check('and leaves nothing', !existsSync(join(place, 'early')) && !existsSync(join(place, 'early.partial')));
  setVersion(first);
  const began = performance.now();
  const one = release(first, join(place, 'a release'));
  check('a release is made, signed and verified', one.status === 0, one.said);
  say(`       ${Math.round((performance.now() - began) / 1000)} s`);
  // Uncommitted changes in the working directory must not affect the release.
  writeFileSync(join(first, 'src/cli.ts'), 'broken');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', first, join(place, 'elsewhere')], { stdio: 'pipe' });
  const second = join(place, 'elsewhere');
  for (const name of ['node_modules', 'ui/node_modules'])
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(second, name));
  const two = release(second, join(place, 'b'));
  check('another clone makes it too', two.status === 0, two.said);
  const [sums, others] = ['a release', 'b'].map((name) => readFileSync(join(place, name, 'SHA256SUMS'), 'utf8'));
  check('the files of both are the same', sums === others, `${sums}\n${others}`);
  say((sums ?? '').trimEnd());
  const out = join(place, 'b');
  const checked = spawnSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' });
  check('sha256sum agrees', checked.status === 0, checked.stdout + checked.stderr);
  const files = readdirSync(out);
  const signed = files.filter((name) => name.endsWith('.sig'));
  const verified = signed.filter((name) => {
    const args = ['dgst', '-sha256', '-verify', 'release-key.pem', '-signature', name, name.replace(/\.sig$/, '')];
    return spawnSync('openssl', args, { cwd: out, encoding: 'utf8' }).stdout.includes('Verified OK');
  });
  check(
    `openssl verifies all ${signed.length} signatures`,
    files.length === 2 * signed.length + 1 && verified.length === signed.length,
    files.join(' '),
  );
  const bill = JSON.parse(readFileSync(join(out, `sealwright-${VERSION}.cbom.cdx.json`), 'utf8')) as {
    components: { type: string }[];
  };
  const assets = bill.components.filter(({ type }) => type === 'cryptographic-asset').length;
  check(`the CBOM names ${assets} cryptographic assets of the product`, assets > 0);
  const at = JSON.stringify(bill).indexOf(tmpdir());
  check('and no place of this machine', at < 0, JSON.stringify(bill).slice(Math.max(0, at - 200), at + 200));
  const packages = JSON.parse(readFileSync(join(out, `sealwright-${VERSION}.sbom.cdx.json`), 'utf8')) as {
    components: unknown[];
  };
  check(`the SBOM names ${packages.components.length} packages`, packages.components.length > 100);
} finally {
  await stage.close();
  rmSync(place, { recursive: true, force: true });
}
conclude('two builds, one hash');
