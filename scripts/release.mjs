import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Failure } from './lib/failure.mjs';
import { runToEnd } from './lib/interruption.mjs';
import { continueUnderNode24 } from './lib/node24.mjs';
import { inRoot, ROOT } from './lib/project.mjs';
import { CHECKSUMS, makeArtifacts, must, writeChecksums } from './lib/release/artifacts.mjs';
import { cryptographyBill, signAll } from './lib/release/signatures.mjs';
import { assertVersion } from './lib/release/version.mjs';
import { step } from './lib/steps.mjs';

/**
 * `npm run release -- VERSION --out DIRECTORY [--commit COMMIT] [--key NAME]`: creates all files of a release from a commit (docs/releases.md). With
 * `--key`, the Sealwright at SEALWRIGHT_URL (SEALWRIGHT_TOKEN) signs the files and creates the CBOM. The directory appears only when
 * it is complete.
 */
let folder;

async function main() {
  await continueUnderNode24();
  // Resolves arguments in the directory where npm was called; the script itself runs in the repository root.
  process.chdir(process.env.INIT_CWD ?? process.cwd());
  const order = readOrder();
  process.chdir(ROOT);
  const commit = (await must('git', ['rev-parse', '--verify', `${order.commit}^{commit}`])).trim();
  await step(`Version ${order.version}`, () => assertCommit(order.version, commit));
  folder = mkdtempSync(path.join(tmpdir(), 'sealwright-release-'));
  const draft = `${order.out}.partial`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const epoch = (await must('git', ['log', '-1', '--format=%ct', commit])).trim();
  const made = await step('Archives, client and SBOM', () =>
    makeArtifacts({ ...order, commit, out: draft, folder, epoch }),
  );
  const names = writeChecksums(draft);
  if (order.key !== undefined) await step('Signatures and CBOM', () => sign(order, draft, names, made));
  renameSync(draft, order.out);
  process.stdout.write(`${[...names, CHECKSUMS].map((name) => path.join(order.out, name)).join('\n')}\n`);
  if (order.key === undefined) process.stdout.write('Nothing is signed. Specify a key with --key.\n');
  return 0;
}

function readOrder() {
  const options = { out: { type: 'string' }, commit: { type: 'string', default: 'HEAD' }, key: { type: 'string' } };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const [version, ...more] = positionals;
  if (version === undefined || values.out === undefined || more.length > 0)
    throw new Failure(
      'The version and the output directory are required',
      'npm run release -- 1.4.0 --out ../releases/1.4.0 [--key NAME]',
    );
  const out = path.resolve(values.out);
  if (existsSync(out))
    throw new Failure(`${out} already exists`, 'Releases are never overwritten. Specify another directory.');
  const { SEALWRIGHT_URL: url = '', SEALWRIGHT_TOKEN: token = '' } = process.env;
  if (values.key !== undefined && (url === '' || token === ''))
    throw new Failure('No credential is set', 'Set SEALWRIGHT_URL and SEALWRIGHT_TOKEN.');
  return { version, out, commit: String(values.commit), key: values.key, url, token };
}

/** Checks that the commit has this version and that the installed packages match the lock file of the commit. */
async function assertCommit(version, commit) {
  const text = (file) => must('git', ['show', `${commit}:${file}`]);
  const [packageJson, lock, changelog] = [
    await text('package.json'),
    await text('package-lock.json'),
    await text('CHANGELOG.md'),
  ];
  assertVersion(version, { packageJson, lock, changelog });
  // Compares all packages except the product, whose version differs.
  const packages = (json) => JSON.stringify(Object.entries(JSON.parse(json).packages).filter(([name]) => name !== ''));
  if (packages(lock) !== packages(readFileSync(inRoot('package-lock.json'), 'utf8')))
    throw new Failure(
      'The installed packages differ from the lock file of the commit',
      'Check out the commit and run: npm ci',
    );
}

async function sign({ version, url, token, key }, out, names, { client, source }) {
  const bill = `sealwright-${version}.cbom.cdx.json`;
  await cryptographyBill({ client, url, token, source, version, file: path.join(out, bill) });
  await signAll({ client, url, token, key, out, names: [...names, CHECKSUMS, bill] });
}

await runToEnd(main, () => folder !== undefined && rmSync(folder, { recursive: true, force: true }));
