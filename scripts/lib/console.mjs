import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Failure } from './failure.mjs';
import { installConsolePackages } from './packages.mjs';
import { inRoot } from './project.mjs';
import { run } from './run.mjs';

/** The web console. The console has separate packages, is built into ui/dist, and is copied to dist/ui, from which the service serves the files. */
const UI = inRoot('ui');
const BUILT = path.join(UI, 'dist');
const SERVED = inRoot('dist/ui');
const STAMP = '.built-from';
const INPUTS = ['package-lock.json', 'tsconfig.json', 'vite.config.ts', 'openapi-ts.config.ts', 'index.html'];
const TEXT = /\.(?:css|html|js|svg)$/;

/** buildConsole builds ui/dist if its sources or the API description have changed. Returns whether a build was necessary. */
export async function buildConsole() {
  const wanted = fingerprint();
  if (stampOf(BUILT) === wanted) return false;
  await installConsolePackages();
  await makeClient();
  await program('vite/bin/vite.js', ['build', '--logLevel', 'error']);
  await compress();
  writeFileSync(path.join(BUILT, STAMP), wanted);
  return true;
}

/** placeConsole copies the built console to dist/ui, because the build of the service empties dist. */
export function placeConsole() {
  if (!existsSync(BUILT) || stampOf(SERVED) === stampOf(BUILT)) return;
  rmSync(SERVED, { recursive: true, force: true });
  cpSync(BUILT, SERVED, { recursive: true });
}

/** makeClient generates the API client from docs/openapi.json. Type checks and lint need the API client too. */
export async function makeClient() {
  await program('@hey-api/openapi-ts/bin/run.js', []);
}

/** serveConsole runs the dev server on port 4200, which proxies API calls to the service, until it ends. */
export async function serveConsole() {
  return program('vite/bin/vite.js', [], { show: true });
}

/** Checks the types of the console. */
export async function checkConsoleTypes() {
  await installConsolePackages();
  await makeClient();
  await program('typescript/bin/tsc', ['--noEmit']);
}

async function program(script, args, options = {}) {
  const file = path.join(UI, 'node_modules', script);
  const { code, output } = await run(process.execPath, [file, ...args], { cwd: UI, ...options });
  if (code !== 0) throw new Failure(`${path.basename(script)} failed in ui/`, 'See the error above.', output);
}

/** Compresses the files once at the highest compression level, instead of for each response. */
async function compress() {
  const files = readdirSync(BUILT, { recursive: true }).filter((name) => TEXT.test(name));
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await Promise.all(
    files.map(async (name) => {
      const file = path.join(BUILT, name);
      const plain = readFileSync(file);
      writeFileSync(`${file}.gz`, await promisify(gzip)(plain, { level: 9 }));
      writeFileSync(`${file}.br`, await promisify(brotliCompress)(plain, quality));
    }),
  );
}

function stampOf(directory) {
  const file = path.join(directory, STAMP);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function fingerprint() {
  const sources = ['src', 'public'].flatMap((folder) =>
    readdirSync(path.join(UI, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
      .filter((file) => !file.includes(`${path.sep}generated${path.sep}`) && !file.endsWith('.spec.ts')),
  );
  const hash = createHash('sha256');
  const inputs = [
    inRoot('docs/openapi.json'),
    inRoot('scripts/lib/console.mjs'),
    ...INPUTS.map((name) => path.join(UI, name)),
  ];
  for (const file of [...inputs, ...sources.sort()]) {
    hash.update(path.relative(UI, file)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}
