import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { contextFiles } from '../image-context.mjs';
import { inRoot } from '../project.mjs';
import { run } from '../run.mjs';

export const CHECKSUMS = 'SHA256SUMS';

/**
 * makeArtifacts creates the reproducible files of a release.
 * @param {{ version: string, commit: string, out: string, folder: string, epoch: string }} release `folder`: an empty directory to build in
 * @returns {Promise<{ client: string, source: string }>} paths of the built client and of the sources of the commit
 */
export async function makeArtifacts({ version, commit, out, folder, epoch }) {
  const archive = path.join(folder, 'source.tar');
  const prefix = `sealwright-${version}`;
  await must('git', ['-c', 'tar.umask=0022', 'archive', '--format=tar', `--prefix=${prefix}/`, '-o', archive, commit]);
  await compress(archive, path.join(out, `${prefix}.tar.gz`));
  await must('tar', ['-xf', archive, '-C', folder]);
  const source = path.join(folder, prefix);
  await imageContext(source, path.join(out, `sealwright-image-context-${version}.tar.gz`), { folder, epoch });
  for (const [at, name] of [
    ['.', 'sealwright'],
    ['ui', 'sealwright-console'],
  ])
    await softwareBill(path.join(source, at), path.join(out, `${name}-${version}.sbom.cdx.json`), epoch);
  const client = await packagesOf(source, out, epoch);
  return { client, source };
}

/** writeChecksums writes the hashes of all files in a directory in the format of sha256sum. */
export function writeChecksums(out) {
  const names = readdirSync(out)
    .filter((name) => name !== CHECKSUMS)
    .sort();
  const lines = names.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(path.join(out, name)))
        .digest('hex')}  ${name}\n`,
  );
  writeFileSync(path.join(out, CHECKSUMS), lines.join(''));
  return names;
}

/** Archives the `docker build` context without anything that differs between machines. */
async function imageContext(source, file, { folder, epoch }) {
  const list = path.join(folder, 'context.txt');
  const more = ['docker/Dockerfile', 'docker/Dockerfile.dockerignore', 'docker/compose.yml', 'docker/init-secrets.sh'];
  writeFileSync(
    list,
    [...new Set([...contextFiles(source), ...more])]
      .sort()
      .map((name) => `${name}\0`)
      .join(''),
  );
  const tar = path.join(folder, 'context.tar');
  const same = [
    '--format=ustar',
    `--mtime=@${epoch}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
    '--sort=name',
  ];
  await must('tar', ['-C', source, ...same, '--no-recursion', '--null', `--files-from=${list}`, '-cf', tar]);
  await compress(tar, file);
}

/** Omits the name and time from the header (RFC 1952). */
async function compress(from, to) {
  await must('gzip', ['--no-name', '--best', '--keep', '--force', from]);
  copyFileSync(`${from}.gz`, to);
}

/**
 * CycloneDX SBOM by npm of the packages in the lock file. Removes or replaces what is not reproducible: the serial number, the time, and the name taken from
 * the directory.
 */
async function softwareBill(folder, file, epoch) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev', '--package-lock-only'];
  const { code, output } = await run('npm', [...args, '--loglevel=error'], { cwd: folder });
  if (code !== 0) throw new Failure('npm sbom failed', '', output);
  const { serialNumber: _random, metadata, ...bill } = JSON.parse(output);
  const timestamp = new Date(Number(epoch) * 1000).toISOString();
  const { name } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const said = { ...metadata, timestamp, component: { ...metadata.component, name } };
  writeFileSync(file, `${JSON.stringify({ ...bill, metadata: said }, null, 2)}\n`);
}

async function packagesOf(source, out, epoch) {
  // Packages come from this checkout; release.mjs has compared them with the lock file of the commit.
  for (const name of ['node_modules', 'ui/node_modules'])
    if (existsSync(inRoot(name))) symlinkSync(inRoot(name), path.join(source, name));
  const env = { ...process.env, SOURCE_DATE_EPOCH: epoch };
  const packages = path.join(source, 'dist/packages');
  mkdirSync(out, { recursive: true });
  // Each script empties the packages directory first.
  for (const script of ['server-package', 'client-package']) {
    const { code, output } = await run(process.execPath, [`scripts/${script}.mjs`], { cwd: source, env });
    if (code !== 0) throw new Failure(`scripts/${script}.mjs failed`, 'See its output for the cause.', output);
    for (const name of readdirSync(packages).filter((file) => /\.(?:tgz|deb)$/.test(file)))
      copyFileSync(path.join(packages, name), path.join(out, name));
  }
  return path.join(packages, 'sealwright-client/sealwright.js');
}

/** must runs a program and throws a Failure unless it succeeds. Returns its output. */
export async function must(program, args, options) {
  const { code, output } = await run(program, args, options);
  if (code !== 0) throw new Failure(`${program} ${args[0]} failed (${code})`, '', output);
  return output;
}
