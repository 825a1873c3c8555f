import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeBuildInfo } from './build-info.mjs';
import { buildConsole, placeConsole } from './console.mjs';
import { Failure } from './failure.mjs';
import { inRoot } from './project.mjs';
import { run } from './run.mjs';

const INPUTS = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  ...['build-service', 'bundle', 'compile', 'compile-typed'].map((name) => `scripts/lib/${name}.mjs`),
];
const STAMP = inRoot('dist/.built-from');

/** isBuilt reports whether dist was built from exactly the current sources. */
export function isBuilt() {
  return existsSync(inRoot('dist/main.js')) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint();
}

/**
 * build builds dist if the sources have changed. Returns whether a build was necessary.
 * @param {{ withConsole?: boolean }} options `withConsole`: false to build only the service, for commands that do not serve the console
 */
export async function build({ withConsole = true } = {}) {
  const [service, console] = await Promise.all([buildService(), withConsole && buildConsole()]);
  placeConsole();
  return service || console;
}

async function buildService() {
  const before = fingerprint();
  if (isBuilt()) {
    // The commit may have changed even if the sources have not.
    writeBuildInfo(before);
    return false;
  }
  const { code, output } = await run(process.execPath, [inRoot('scripts/lib/build-service.mjs'), before]);
  if (code !== 0)
    throw new Failure('The build failed', 'See the message above. To run only the build: npm run build', output);
  writeFileSync(STAMP, before);
  return true;
}

/**
 * Returns a hash of the sources. Hashes the contents of the files instead of their modification times, because a fresh checkout or a branch switch changes the
 * times.
 */
function fingerprint() {
  const sources = readdirSync(inRoot('src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
  const hash = createHash('sha256');
  for (const file of [...INPUTS.map((name) => inRoot(name)), ...sources.sort()]) {
    hash.update(path.relative(inRoot(), file)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}
