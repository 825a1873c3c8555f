import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { inRoot } from './project.mjs';
import { run } from './run.mjs';
import { missing, NEEDS } from './system-packages.mjs';

const ADDON = inRoot('node_modules/pkcs11js/build/Release/pkcs11.node');
const COMPILERS = [NEEDS.python, NEEDS.make, NEEDS.cxx];

/** Whether node_modules holds what package-lock.json says. npm writes its own record there when an installation is complete. */
export function packagesAreCurrent() {
  return installedMatchesLock() && existsSync(ADDON);
}

/** What the machine needs for the PKCS#11 binding, which is compiled on installation; none when that is done. */
export const needsForPackages = () => (packagesAreCurrent() ? [] : missing(COMPILERS));

/** Brings node_modules in line with package-lock.json. Answers whether anything was to do. */
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
  // Without headers beside Node itself: those in the package that carries Node 24. The binding is N-API, it fits both.
  if (!existsSync(ADDON)) await npm(['rebuild', 'pkcs11js'], headers ?? nodeHeaders(packagedNode()));
  if (existsSync(ADDON)) return true;
  throw new Failure(
    'The PKCS#11 binding was not built',
    'See what this says: npm rebuild pkcs11js --foreground-scripts',
  );
}

/** Brings ui/node_modules in line with ui/package-lock.json. Answers whether anything was to do. */
export async function installConsolePackages() {
  if (installedMatchesLock('ui')) return false;
  // None of them has anything to run on installation.
  await npm(
    ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--ignore-scripts'],
    undefined,
    'ui',
  );
  return true;
}

/** Where npm put Node 24 for this platform. */
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
  // The npm that runs this script, when one does; it may not be on PATH under that name.
  const cli = process.env.npm_execpath;
  const command = cli?.endsWith('.js') ? [process.execPath, cli] : ['npm'];
  // node-gyp would download the headers of Node; they are in the installation already.
  const nodedir = headers && { npm_config_nodedir: headers, npm_package_config_node_gyp_nodedir: headers };
  const env = { ...process.env, ...nodedir, npm_config_update_notifier: 'false' };
  const { code, output } = await run(command[0], [...command.slice(1), ...args], { env, cwd: inRoot(folder) });
  if (code === 0) return;
  throw new Failure(
    `npm ${args[0]} failed`,
    'npm says why above. Is the registry reachable (npm ping)? Behind a proxy: npm config set proxy …',
    output,
  );
}
