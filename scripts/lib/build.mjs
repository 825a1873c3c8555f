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

/** Whether dist was built from these very sources. */
export function isBuilt() {
  return existsSync(inRoot('dist/main.js')) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint();
}

/**
 * Builds dist when the sources are not those that it was built from. Answers whether anything was to do.
 * @param {{ withConsole?: boolean }} options false: the service alone, for commands that serve nobody
 */
export async function build({ withConsole = true } = {}) {
  const [service, console] = await Promise.all([buildService(), withConsole && buildConsole()]);
  placeConsole();
  return service || console;
}

async function buildService() {
  const before = fingerprint();
  if (isBuilt()) {
    // The same sources can be those of a later commit.
    writeBuildInfo(before);
    return false;
  }
  const { code, output } = await run(process.execPath, [inRoot('scripts/lib/build-service.mjs'), before]);
  if (code !== 0)
    throw new Failure('The build failed', 'The message is above. Run the build alone with: npm run build', output);
  writeFileSync(STAMP, before);
  return true;
}

/** By content, not by time: a fresh checkout or another branch gives files new times. */
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
