import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { chmod, copyFile, mkdtemp, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { writePem } from '../../../formats/encoding/base64.js';
import { ClientError, EXIT, usageError } from '../../api/exit-codes.js';
import { runWithKeys, type ToolOrder, type ToolSurroundings } from '../exec/tool-session.js';
import { signNoted } from '../collect/batch-signing.js';
import { NotedOrders } from '../collect/noted-orders.js';
import type { AgentKey } from '../signer/agent-keys.js';
import type { SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import type { FileCheck, FileOrder, FileTool, Unchecked } from './file-tool.js';

export interface FileSigning {
  readonly file: string;
  /** Where the signed file goes; may be the file itself. */
  readonly out: string;
  readonly key: AgentKey;
  /** PEM file of the authorities that the verifier of the tool is to trust. */
  readonly authorities: string | undefined;
}

export interface SignedFile {
  readonly file: string;
  readonly program: string;
  /** Whether the verifier for such files accepted it. */
  readonly verified: boolean;
  /** Why it was not verified. */
  readonly unchecked?: string;
}

/**
 * Signs a file by the tool for its kind and checks the result with the verifier for such files. The file is replaced only by one that was signed
 * and checked: until then the tool works beside it.
 *
 * @param sign in place of the service
 * @throws ClientError when the tool is missing, when it fails, and when its verifier does not accept what it made
 */
export async function signFile(
  tool: FileTool,
  { file, out, key, authorities }: FileSigning,
  surroundings: ToolSurroundings,
  sign?: ToolOrder['sign'],
): Promise<SignedFile> {
  return besideOf(tool, { file, out, key, authorities }, surroundings, async (order) => {
    const code = await run(tool, order, { key, sign }, surroundings);
    if (code !== 0) throw new ClientError(EXIT.failed, `${tool.program} failed (${code}); ${basename(file)} is as it was.`); // prettier-ignore
    await tool.finish?.(order);
    const check = tool.verify(order);
    if ('program' in check) assertVerified(check, surroundings.environment);
    // Who may read and run the file stays as it was, and a link goes on to point to it.
    await chmod(order.out, (await stat(file)).mode & 0o777);
    await rename(order.out, await realpath(out).catch(() => out));
    return { file: out, program: tool.program, verified: 'program' in check, ...('unchecked' in check && check) };
  });
}

/** Notes which signatures the tool asks for to sign a file, and signs nothing. */
export async function noteFile(
  tool: FileTool,
  signing: FileSigning,
  surroundings: ToolSurroundings,
  noted: NotedOrders,
): Promise<void> {
  const { file, key } = signing;
  let hasAsked = false;
  const sign = (asked: SignatureOrder): Promise<SignatureResult> => {
    hasAsked = true;
    return noted.note(asked, basename(file));
  };
  await besideOf(tool, signing, surroundings, (order) => run(tool, order, { key, sign }, surroundings));
  if (!hasAsked)
    throw new ClientError(EXIT.failed, `${tool.program} did not ask for a signature of ${basename(file)}.`);
}

interface FileWork {
  readonly tool: FileTool;
  readonly signing: FileSigning;
}

/**
 * Signs files under one approval for each 1,000 of them. The tools run twice: first to note which digests they ask for, then, when all of
 * these are signed, to write the files. No file is changed before.
 *
 * @throws ClientError when a tool asks for another digest each time, and when not all were signed
 */
export async function signCollected(work: readonly FileWork[], surroundings: ToolSurroundings): Promise<SignedFile[]> {
  for (const { tool, signing } of work)
    if (!tool.isRepeatable)
      throw usageError(`${signing.file}: ${tool.program} writes the time into what it signs, so it is signed without --collect.`); // prettier-ignore
  const noted = new NotedOrders();
  for (const { tool, signing } of work) await noteFile(tool, signing, surroundings, noted);
  const asking = { program: 'sealwright', commandLine: `sealwright sign --collect (${work.length} files)` };
  const answered = await signNoted(surroundings.api, noted.all, { asking, note: surroundings.note });
  const failure = answered.firstFailure;
  if (failure !== undefined)
    throw new ClientError(EXIT.failed, `Not signed, ${failure.kind}: ${failure.detail} The files are as they were.`);
  const signed: SignedFile[] = [];
  for (const { tool, signing } of work)
    signed.push(await signFile(tool, signing, surroundings, (order) => answered.answer(order, surroundings.note)));
  return signed;
}

/** Does work on a file in a directory beside the place of the signed one, which is then removed. */
async function besideOf<Result>(
  tool: FileTool,
  { file, out, key, authorities }: FileSigning,
  { environment }: ToolSurroundings,
  work: (order: FileOrder) => Promise<Result>,
): Promise<Result> {
  assertThere(tool, file, environment);
  if (key.chain.length === 0)
    throw new ClientError(EXIT.failed, `The key "${key.name}" has no certificate, and ${tool.program} needs one: sealwright certify ${key.name}.`); // prettier-ignore
  // Beside the place of the result, so that it can be moved there at once.
  const place = await mkdtemp(join(dirname(await realpath(out).catch(() => out)), '.sealwright-'));
  try {
    const chain = join(place, 'chain.pem');
    await writeFile(chain, key.chain.map((der) => writePem('CERTIFICATE', der)).join(''));
    // An absolute path is never taken for an option.
    const order: FileOrder = {
      file: resolve(file),
      out: join(place, basename(out)),
      key: key.name,
      chain,
      authorities,
    };
    assertVerifierThere(tool.verify(order), file, environment);
    if (tool.writesInPlace) await copyFile(file, order.out);
    await tool.prepare?.(order);
    return await work(order);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function run(
  tool: FileTool,
  order: FileOrder,
  { key, sign }: { readonly key: AgentKey; readonly sign: ToolOrder['sign'] },
  surroundings: ToolSurroundings,
): Promise<number> {
  const { program, args } = tool.sign(order);
  const fileName = basename(order.file);
  // The tool's own command line has the paths of this run in it: what approvers see is to be the same when it is run again.
  const asking = { program, commandLine: `sealwright sign ${fileName} (${program})`, fileName };
  const { code } = await runWithKeys(
    { command: program, args, asking, keys: [key], purpose: 'code-signing', asksForPin: false, ...(sign && { sign }) },
    { ...surroundings, environment: inUtf8(surroundings.environment) },
  );
  return code;
}

/** Builds run without a locale, and then Java finds no file whose path is not ASCII. */
function inUtf8(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LC_ALL: all, LC_CTYPE: characters, LANG: language } = environment;
  const locale = [all, characters, language].find((one) => one !== undefined && one !== '') ?? '';
  return /utf-?8$/i.test(locale) ? environment : { ...environment, LC_ALL: 'C.UTF-8' };
}

function assertVerified({ program, args, expected }: FileCheck, env: NodeJS.ProcessEnv): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: inUtf8(env) });
  if (status === 0 && `${stdout}${stderr}`.includes(expected)) return;
  throw new ClientError(EXIT.failed, `${program} does not accept the signed file, which was thrown away: ${lastLine(stderr, stdout)}`); // prettier-ignore
}

function lastLine(...outputs: string[]): string {
  return outputs.join('\n').trim().split('\n').at(-1) ?? '';
}

function assertThere({ program, toInstall }: FileTool, file: string, { PATH: path = '' }: NodeJS.ProcessEnv): void {
  if (path.split(delimiter).some((directory) => isExecutable(join(directory, program)))) return;
  throw new ClientError(
    EXIT.failed,
    `${basename(file)} is signed by ${program}, which is missing: ${toInstall}. Or sign it detached: --format raw.`,
  );
}

/** Before people are asked, since a signed file that cannot be checked would be thrown away. */
function assertVerifierThere(check: FileCheck | Unchecked, file: string, env: NodeJS.ProcessEnv): void {
  if (!('needs' in check) || check.needs === undefined) return;
  const { version, toInstall } = check.needs;
  const { stdout } = spawnSync(check.program, ['--version'], { encoding: 'utf8', env });
  const [found] = /(?<!\d)\d{1,4}\.\d{1,4}(?:\.\d{1,4})?/.exec(stdout ?? '') ?? [];
  if (found !== undefined && found.localeCompare(version, 'en', { numeric: true }) >= 0) return;
  throw new ClientError(
    EXIT.failed,
    `${basename(file)} is checked by ${check.program} ${version} or later, and here is ${found ?? 'none'}: ${toInstall}. Or leave --authorities out: then nothing checks it.`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
