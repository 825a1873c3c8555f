import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { inRoot } from './project.mjs';

const DIST = inRoot('dist');
const MODULES = inRoot('node_modules');
/** Programs that the service starts by path; everything else is in the bundle. */
const STARTED_BY_PATH = ['**/*-thread.js', 'hsm/process/key-process.js'];
/** Files of dist that are not imported by name. */
const ASSETS = ['main.js', 'worker.js', 'cli.js', 'sealwright.js', 'build.json', 'bundled', 'ui'];
/** Files of packages that no program reads. Licenses are kept. */
const UNREAD = /(?:\.d\.[cm]?ts|\.map|\.tsbuildinfo|\.cc?|\.cpp|\.h)$|(?:^|\/)(?:CHANGELOG|README)[^/]*\.md$/i;
/** Files that node-gyp leaves next to a native module. These files contain directory names from the machine that compiled the module. */
const COMPILATION = /^binding\.gyp$|^build\/(?!Release(?:\/[^/]+\.node)?$)/;
const SPECIFIER =
  /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*|\bresolve\s*\(\s*)(["'])((?:@[\w.-]+\/)?[\w.-]+(?:\/[^"'\n]*)?|\.{1,2}\/[^"'\n]+)\1/g;

/**
 * writeRuntimeTree copies what a production installation needs to `out`: the programs, the files that the programs read, and the imported packages with their
 * dependencies. Type declarations, the packages' source maps and build-only packages are omitted.
 * @param {string} out directory to create, which must not exist
 * @returns {{ packages: number }} number of packages in the tree
 */
export function writeRuntimeTree(out) {
  if (existsSync(out)) throw new Failure(`${out} already exists`, 'Specify a new directory.');
  if (!existsSync(path.join(DIST, 'bundled'))) throw new Failure('dist/ has not been built', 'Run: npm run build');
  mkdirSync(out, { recursive: true });
  const files = reachableFiles();
  for (const file of [...ASSETS, ...globSync('**/public', { cwd: DIST }), ...files]) {
    if (existsSync(path.join(DIST, file)))
      cpSync(path.join(DIST, file), path.join(out, 'dist', file), { recursive: true });
  }
  for (const file of ['package.json', 'LICENSE']) cpSync(inRoot(file), path.join(out, file));
  const sources = [...globSync('bundled/*.js', { cwd: DIST }), ...files.filter((file) => file.endsWith('.js'))];
  const packages = packagesOf(sources.flatMap((file) => specifiersIn(path.join(DIST, file))));
  for (const folder of packages) copyPackage(folder, path.join(out, 'node_modules', path.relative(MODULES, folder)));
  return { packages: packages.size };
}

/** Returns the programs started by path, and the modules of dist that these programs import. */
function reachableFiles() {
  const found = new Set(STARTED_BY_PATH.flatMap((pattern) => globSync(pattern, { cwd: DIST })));
  for (const file of found) {
    if (!file.endsWith('.js')) continue;
    for (const specifier of specifiersIn(path.join(DIST, file)).filter((one) => one.startsWith('.'))) {
      const target = path.join(path.dirname(file), specifier);
      if (existsSync(path.join(DIST, target))) found.add(target);
    }
  }
  return [...found];
}

function specifiersIn(file) {
  return [...readFileSync(file, 'utf8').matchAll(SPECIFIER)].map(([, , specifier]) => specifier);
}

/** Returns the directories of the packages named by the specifiers, and of all their dependencies. */
function packagesOf(specifiers) {
  const found = new Set();
  const visit = (name, from) => {
    const folder = folderOf(name, from);
    if (folder === undefined || found.has(folder)) return;
    found.add(folder);
    const { dependencies, optionalDependencies, peerDependencies } = manifestOf(folder);
    const needed = { ...dependencies, ...optionalDependencies, ...requiredPeers(folder, peerDependencies) };
    for (const dependency of Object.keys(needed)) visit(dependency, folder);
  };
  for (const specifier of specifiers) {
    const [scope, name] = specifier.split('/');
    const wanted = scope.startsWith('@') ? `${scope}/${name}` : scope;
    if (!specifier.startsWith('.') && !builtinModules.includes(wanted)) visit(wanted, MODULES);
  }
  return found;
}

/** Resolves a package as Node.js does: in node_modules of the importing package, then in node_modules of each parent directory. */
function folderOf(name, from) {
  for (let folder = from; folder.startsWith(MODULES); folder = path.dirname(folder)) {
    const candidate =
      path.basename(folder) === 'node_modules' ? path.join(folder, name) : path.join(folder, 'node_modules', name);
    if (existsSync(path.join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

const manifestOf = (folder) => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));

function requiredPeers(folder, peers = {}) {
  const { peerDependenciesMeta: meta = {} } = manifestOf(folder);
  return Object.fromEntries(Object.entries(peers).filter(([name]) => meta[name]?.optional !== true));
}

/** Copies a package without nested packages, which are copied separately. */
function copyPackage(from, to) {
  const skipped = path.join(from, 'node_modules');
  const isNative = existsSync(path.join(from, 'binding.gyp'));
  const isUnread = (name) => UNREAD.test(name) || (isNative && COMPILATION.test(name));
  cpSync(from, to, { recursive: true, filter: (file) => file !== skipped && !isUnread(path.relative(from, file)) });
  if (readdirSync(to).length === 0) rmSync(to, { recursive: true });
}
