import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { inRoot } from './project.mjs';
import { run } from './run.mjs';
import { missing, NEEDS } from './system-packages.mjs';

const ADDON = inRoot('node_modules/pkcs11js/build/Release/pkcs11.node');
const COMPILERS = [NEEDS.python, NEEDS.make, NEEDS.cxx];

/** packagesAreCurrent reports whether node_modules matches package-lock.json. npm writes a lock file to node_modules when an installation is complete. */
export function packagesAreCurrent() {
  return installedMatchesLock() && existsSync(ADDON);
}

/** needsForPackages returns the missing compilers that the PKCS #11 binding needs during installation. Returns an empty list if the packages are current. */
export const needsForPackages = () => (packagesAreCurrent() ? [] : missing(COMPILERS));

/** installPackages installs the packages in package-lock.json. Returns whether an installation was necessary. */
export async function installPackages() {
  const [service, console] = await Promise.all([installServicePackages(), installConsolePackages()]);
  return service || console;
}

async function installServicePackages() {
  if (packagesAreCurrent()) return false;
  const headers = nodeHeaders(path.resolve(path.dirname(process.execPath), '..'));
  const scripts = headers === undefined ? ['--ignore-scripts'] : [];
  if (!installedMatchesLock()) {
    await npm(['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', ...scripts], headers);
  }
  // Falls back to the headers of the packaged Node 24 if the current Node has no headers. The binding uses Node-API and works with both versions.
  if (!existsSync(ADDON)) await npm(['rebuild', 'pkcs11js'], headers ?? nodeHeaders(packagedNode()));
  if (existsSync(ADDON)) return true;
  throw new Failure('The PKCS#11 binding was not built', 'To see the error: npm rebuild pkcs11js --foreground-scripts');
}

/** installConsolePackages installs the packages in ui/package-lock.json. Returns whether an installation was necessary. */
export async function installConsolePackages() {
  if (installedMatchesLock('ui')) return false;
  // None of the packages needs an install script.
  await npm(
    ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--ignore-scripts'],
    undefined,
    'ui',
  );
  return true;
}

/** packagedNode returns the directory of the Node 24 that npm installed for this platform. */
export const packagedNode = () => inRoot(`node_modules/node-${process.platform}-${process.arch}`);

function nodeHeaders(prefix) {
  return existsSync(path.join(prefix, 'include/node/node_api.h')) ? prefix : undefined;
}

function installedMatchesLock(folder = '') {
  const read = (file) => JSON.parse(readFileSync(inRoot(folder, file), 'utf8')).packages;
  const installed = existsSync(inRoot(folder, 'node_modules/.package-lock.json'))
    ? read('node_modules/.package-lock.json')
    : {};
  const locked = read('package-lock.json');
  const wanted = Object.entries(locked).filter(([name]) => name !== '');
  return (
    wanted.every(([name, { version, optional, devOptional, peer }]) =>
      installed[name] === undefined ? Boolean(optional || devOptional || peer) : installed[name].version === version,
    ) && Object.keys(installed).every((name) => locked[name] !== undefined)
  );
}

async function npm(args, headers, folder = '') {
  // Uses the npm that runs this script, if any, because npm may not be on the PATH.
  const cli = process.env.npm_execpath;
  const command = cli?.endsWith('.js') ? [process.execPath, cli] : ['npm'];
  // node-gyp would download Node's headers, which are already part of the installation.
  const nodedir = headers && { npm_config_nodedir: headers, npm_package_config_node_gyp_nodedir: headers };
  const env = { ...process.env, ...nodedir, npm_config_update_notifier: 'false' };
  const { code, output } = await run(command[0], [...command.slice(1), ...args], { env, cwd: inRoot(folder) });
  if (code === 0) return;
  throw new Failure(
    `npm ${args[0]} failed`,
    'See the npm error above. Check that the registry is reachable (npm ping). Behind a proxy: npm config set proxy …',
    output,
  );
}
