import { Failure } from './failure.mjs';
import { run } from './run.mjs';

/** Same files, same package: times in archives are this one, unless the caller names another. */
const EPOCH = process.env.SOURCE_DATE_EPOCH ?? '1764547200';
/** Debian's Node.js is too old for the service, so its package brings its own. */
export const PACKAGED_NODE = '/opt/sealwright/bin/node';
export const MAINTAINER = 'The maintainers of Sealwright <maintainers@sealwright.invalid>';

/**
 * buildDebianPackage packs a directory that has DEBIAN/control into a .deb. All files belong to root.
 * @param {string} tree
 * @param {string} file path of the .deb
 */
export async function buildDebianPackage(tree, file) {
  const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH };
  const { code, output } = await run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z2', '--build', tree, file], { env });
  if (code !== 0) throw new Failure('dpkg-deb failed', 'Install dpkg: it is part of Debian and Ubuntu.', output);
}

/** controlText writes the fields of DEBIAN/control; `description` is the extended one, one paragraph an item. */
export function controlText(fields, description) {
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `${[...lines, ...description.flatMap((text, at) => (at === 0 ? [` ${text}`] : [' .', ` ${text}`]))].join('\n')}\n`;
}
