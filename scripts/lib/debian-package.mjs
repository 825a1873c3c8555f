import { chmodSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { run } from './run.mjs';

/** Timestamp of files in archives, by default a constant, so that the same files yield the same package. */
const EPOCH = process.env.SOURCE_DATE_EPOCH ?? '1764547200';
/** Debian's Node.js is too old for the service, so the package includes its own. */
export const PACKAGED_NODE = '/opt/sealwright/bin/node';
export const MAINTAINER = 'The maintainers of Sealwright <maintainers@sealwright.invalid>';

/**
 * buildDebianPackage packs a directory with DEBIAN/control into a .deb. All files belong to root and are readable by everyone, regardless of
 * the builder's umask, because the service cannot run programs that only root can read.
 * @param {string} tree
 * @param {string} file path of the .deb
 */
export async function buildDebianPackage(tree, file) {
  setModes(tree);
  const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH };
  const { code, output } = await run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z2', '--build', tree, file], { env });
  if (code !== 0) throw new Failure('dpkg-deb failed', 'Install dpkg, which is part of Debian and Ubuntu.', output);
}

/** setModes makes directories and programs 0755 and all other files 0644. */
function setModes(tree) {
  chmodSync(tree, 0o755);
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const isProgram = entry.isDirectory() || (statSync(file).mode & 0o100) !== 0;
    chmodSync(file, isProgram ? 0o755 : 0o644);
  }
}

/** controlText formats the fields of DEBIAN/control; `description` is the extended description, one paragraph per item. */
export function controlText(fields, description) {
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `${[...lines, ...description.flatMap((text, at) => (at === 0 ? [` ${text}`] : [' .', ` ${text}`]))].join('\n')}\n`;
}
