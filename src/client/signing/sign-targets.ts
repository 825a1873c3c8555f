import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { FileTool } from '../agent/tools/file-tool.js';
import { fileToolFor } from '../agent/tools/file-tools.js';
import { type OptionValues, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { EXTENSION, TOKEN_EXTENSION } from '../api/files.js';
import { expandPatterns } from '../api/file-names.js';
import { readTextFile } from '../../platform/text/text-file.js';

/** SignTarget is a file to be signed, with the tool that embeds the signature. Without a tool, the file gets a detached signature. */
export interface SignTarget {
  readonly file: string;
  readonly tool: FileTool | undefined;
}

interface Naming {
  /** Whether all files get detached signatures. */
  readonly isDetached: boolean;
  note?(line: string): void;
}

const SIGNATURES = [...Object.values(EXTENSION), TOKEN_EXTENSION, '.asc'];

/**
 * pathsOf returns the paths of the files to sign. A pattern is replaced by the files that match it, and a directory by the files in it that can have embedded
 * signatures. The signature of a named file is skipped, because a pattern such as `dist/*` also matches signatures from an earlier run.
 */
export async function pathsOf(names: readonly string[], { isDetached, note }: Naming): Promise<string[]> {
  const paths: string[] = [];
  for (const name of await expandPatterns(names)) {
    const there = await stat(name).catch(() => undefined);
    if (there?.isDirectory() !== true) paths.push(name);
    else if (isDetached)
      throw usageError(`${name} is a directory. Specify its files, for example '${join(name, '*')}'.`);
    else paths.push(...(await embeddedBelow(name)));
  }
  const all = new Set(paths.map((path) => resolve(path)));
  const isSignature = (path: string): boolean =>
    SIGNATURES.some(
      (extension) => path.endsWith(extension) && isBeside(resolve(path).slice(0, -extension.length), all),
    );
  const left = paths.filter((path) => isSignature(path));
  if (left.length > 0) note?.(`sealwright: skipped signature files: ${left.join(', ')}`);
  return paths.filter((path) => !left.includes(path));
}

/** Reports whether the file to which a signature belongs was also named. */
function isBeside(path: string, all: ReadonlySet<string>): boolean {
  return all.has(path);
}

async function embeddedBelow(directory: string): Promise<string[]> {
  const found = (await readdir(directory, { recursive: true })).toSorted().map((one) => join(directory, one));
  const known = found.filter((file) => fileToolFor(file) !== undefined);
  if (known.length > 0) return known;
  throw usageError(`${directory} contains no file that can have an embedded signature.`);
}

/** Determines how each file is signed. Throws a usage error if an option has no effect on a file. */
export function toolsOf(paths: readonly string[], options: OptionValues): SignTarget[] {
  const isDetached = text(options, 'format') !== undefined || text(options, 'request') !== undefined;
  const targets = paths.map((file) => ({ file, tool: isDetached ? undefined : fileToolFor(file) }));
  for (const { file, tool } of targets) if (tool !== undefined) assertFollows(file, tool, options);
  return targets;
}

function assertFollows(file: string, tool: FileTool, options: OptionValues): void {
  const name = basename(file);
  const algorithm = text(options, 'algorithm');
  if (options['timestamp'] === true && !tool.hasTimestamps)
    throw usageError(`--timestamp has no effect on ${name}, because ${tool.program} does not support timestamps. Sign it in a separate call without --timestamp.`); // prettier-ignore
  if (algorithm === undefined || tool.algorithms.some((one) => one === algorithm)) return;
  const known = tool.algorithms.length === 0 ? `${tool.program} chooses the hash itself` : `${tool.program} supports ${tool.algorithms.join(', ')}`; // prettier-ignore
  throw usageError(`--algorithm ${algorithm} cannot be used for ${name}: ${known}.`);
}

/** Throws if a file cannot be read, before the first file is signed. */
export async function assertReadable(targets: readonly SignTarget[]): Promise<void> {
  for (const { file } of targets)
    await stat(file).catch((error: Error) => {
      throw new ClientError(EXIT.failed, `Cannot read ${file}: ${error.message}`);
    });
}

const SUMS = /(?:^|[._-])(?:MD5|SHA\d*|B2)?SUMS?(?:\.txt)?$/i;
const MAX_SUMS_BYTES = 16 << 20;

/** Throws if a checksum list contains a file that is about to get an embedded signature, because the checksum in the signed list would then be wrong. */
export async function assertSumsStayTrue(targets: readonly SignTarget[]): Promise<void> {
  const changing = new Set(targets.filter(({ tool }) => tool !== undefined).map(({ file }) => resolve(file)));
  for (const { file, tool } of targets) {
    if (tool !== undefined || changing.size === 0 || !SUMS.test(basename(file))) continue;
    if ((await stat(file)).size > MAX_SUMS_BYTES) continue;
    const names = (await readTextFile(file))
      .split('\n')
      .map((line) => /^\\?[0-9a-f]{32,128} [ *](.+)$/i.exec(line)?.[1]);
    const wrong = names.find((name) => name !== undefined && changing.has(resolve(dirname(file), name)));
    if (wrong !== undefined)
      throw usageError(`${file} lists ${wrong}, which changes when it is signed. Sign ${wrong} first, update ${basename(file)}, and then sign the rest.`); // prettier-ignore
  }
}
