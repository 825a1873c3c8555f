import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
/** Time limit for compilation, which takes a minute on a small machine and longer under load. */
const BUILD_TIMEOUT_MS = 900_000;

/** A build of another commit of this repository. */
export interface EarlierVersion {
  readonly commit: string;
  /** Directory of the compiled programs. */
  readonly dist: string;
  remove(): Promise<void>;
}

/**
 * Unpacks an earlier commit next to this checkout, and builds the service of that commit with the packages of this checkout. With `built`, uses an existing
 * build instead.
 */
export async function earlierVersion(commit: string, built: string | undefined): Promise<EarlierVersion> {
  if (built !== undefined) {
    if (!existsSync(join(built, 'dist/main.js'))) throw new Error(`${built} has no dist/main.js`);
    return { commit: `${commit}, built in ${built}`, dist: join(built, 'dist'), remove: async () => undefined };
  }
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-earlier-'));
  const tree = join(directory, 'tree');
  const remove = async () => rmSync(directory, { recursive: true, force: true });
  try {
    mkdirSync(tree);
    const archive = join(directory, 'tree.tar');
    await run('git', ['-C', ROOT, 'archive', '--output', archive, commit]);
    await run('tar', ['-xf', archive, '-C', tree]);
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(tree, 'node_modules'));
    const builder = pathToFileURL(join(tree, 'scripts/lib/build.mjs')).href;
    const program = `const { build } = await import(${JSON.stringify(builder)}); await build({ withConsole: false });`;
    const options = { cwd: tree, timeout: BUILD_TIMEOUT_MS };
    await run(process.execPath, ['--input-type=module', '--eval', program], options);
    return { commit, dist: join(tree, 'dist'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
