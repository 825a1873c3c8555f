import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { writePem } from '../../../formats/encoding/base64.js';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { FileState } from '../../api/file-state.js';
import { assertSpace, OutputFile, targetOf, writing } from '../../api/output-file.js';
import { runWithKeys, type ToolOrder, type ToolSurroundings } from '../exec/tool-session.js';
import type { AgentKey } from '../signer/agent-keys.js';
import { assertIssuedBy } from '../signer/key-certificates.js';
import type { DigestName, NotSigned, SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import type { FileCheck, FileOrder, FileTool, TimestampPlace } from './file-tool.js';
import { assertToolReady } from './tool-needs.js';

export interface FileSigning {
  readonly file: string;
  /** Path of the signed file, which can be the path of the input file. */
  readonly out: string;
  readonly key: AgentKey;
  /** PEM file with the authorities that the tool's verifier trusts. */
  readonly authorities: string | undefined;
  readonly algorithm?: DigestName | undefined;
  readonly timestamps?: TimestampPlace | undefined;
  readonly reference?: string | undefined;
  /** Seconds to wait for a decision. If undefined, there is no limit. */
  readonly waitSeconds?: number | undefined;
}

export interface SignedFile {
  readonly file: string;
  readonly program: string;
  /** Whether the verifier for this kind of file accepted the result. */
  readonly verified: boolean;
  /** Reason why the result was not verified. */
  readonly unchecked?: string;
}

type Sign = (order: SignatureOrder) => Promise<SignatureResult>;

/** Options of a tool run: how it is signed, and whether its output is printed. */
interface ToolRun {
  /** Signs instead of the service, if given. */
  readonly sign?: Sign | undefined;
  readonly isQuiet?: boolean;
}

/**
 * signFile signs a file with the tool for its kind and checks the result with the verifier. The tool works on a copy. The file is replaced only with a signed
 * and checked result, and only if its content has not changed.
 *
 * @param sign signs instead of the service
 * @throws ClientError if the tool is missing or fails, the verifier rejects the result, or the file has changed
 */
export async function signFile(
  tool: FileTool,
  signing: FileSigning,
  surroundings: ToolSurroundings,
  sign?: Sign,
): Promise<SignedFile> {
  const { file, out } = signing;
  const before = await FileState.of(file);
  const output = await OutputFile.reserve(out);
  return besideOf(tool, signing, surroundings, async (order) => {
    const { code, ended } = await runTool(tool, order, signing, surroundings, { sign });
    if (code !== 0) throw await failureOf(tool, order, code, ended);
    await tool.finish?.(order);
    const check = tool.verify(order);
    if ('program' in check) assertVerified(check, surroundings.environment);
    const requestId = ended?.requestId;
    const hasSameContent = async () => (await hashOf(file)).equals(await hashOf(order.file));
    await before.assertCurrent(requestId, hasSameContent);
    // The signed file keeps the permissions of the original.
    await chmod(order.out, (await stat(file)).mode & 0o777);
    await output.publish(order.out, { requestId, hasSameContent: file === out ? hasSameContent : undefined });
    return { file: out, program: tool.program, verified: 'program' in check, ...('unchecked' in check && check) };
  });
}

/** noteFile records the signatures that the tool requests for a file, without signing anything. The tool's output is hidden. */
export async function noteFile(
  tool: FileTool,
  signing: FileSigning,
  surroundings: ToolSurroundings,
  note: (asked: SignatureOrder, fileName: string) => Promise<SignatureResult>,
): Promise<void> {
  let hasAsked = false;
  const sign: Sign = (asked) => {
    hasAsked = true;
    return note(asked, basename(signing.file));
  };
  const work = (order: FileOrder) => runTool(tool, order, signing, surroundings, { sign, isQuiet: true });
  const { printed } = await besideOf(tool, signing, surroundings, work);
  if (hasAsked) return;
  throw new ClientError(EXIT.failed, `${tool.program} did not request a signature for ${basename(signing.file)}: ${lastLine(printed)}`); // prettier-ignore
}

/** Runs `work` on a copy of a file, in a temporary directory next to the output path. */
async function besideOf<Result>(
  tool: FileTool,
  { file, out, key, authorities, algorithm, timestamps }: FileSigning,
  { environment }: ToolSurroundings,
  work: (order: FileOrder) => Promise<Result>,
): Promise<Result> {
  await assertToolReady(tool, basename(file), { environment, checks: authorities !== undefined });
  if (key.chain.length === 0)
    throw new ClientError(EXIT.failed, `Key "${key.name}" has no certificate, which ${tool.program} requires. Run: sealwright certify ${key.name}`); // prettier-ignore
  if (authorities !== undefined) await assertIssuedBy(key, authorities);
  const directory = dirname(await targetOf(out));
  const { size } = await stat(file);
  // The directory is next to the output path, so that the result can be moved into place atomically.
  return writing(out, async () => {
    await assertSpace(directory, COPIES * size);
    const place = await mkdtemp(join(directory, '.sealwright-'));
    try {
      const chain = join(place, 'chain.pem');
      await writeFile(chain, key.chain.map((der) => writePem('CERTIFICATE', der)).join(''));
      const original = join(place, 'original', basename(file));
      await mkdir(dirname(original));
      await copyFile(file, original, constants.COPYFILE_FICLONE);
      const order: FileOrder = {
        file: original,
        out: join(place, basename(out)),
        key: key.name,
        keyType: key.type,
        chain,
        authorities,
        algorithm,
        timestamps,
      };
      if (tool.writesInPlace) await copyFile(original, order.out, constants.COPYFILE_FICLONE);
      await tool.prepare?.(order);
      return await work(order);
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  });
}

/** Number of copies of the file on disk: the tool's input and the signed file. */
const COPIES = 2;

interface EndedRun {
  readonly code: number;
  readonly printed: string;
  /** Result of the tool's last order, if any. */
  readonly ended: SignatureResult | undefined;
}

async function runTool(
  tool: FileTool,
  order: FileOrder,
  { key, reference, waitSeconds }: FileSigning,
  surroundings: ToolSurroundings,
  { sign, isQuiet = false }: ToolRun,
): Promise<EndedRun> {
  const { program, args } = tool.sign(order);
  const fileName = basename(order.file);
  let ended: SignatureResult | undefined;
  const run: ToolOrder = {
    command: program,
    args,
    keys: [key],
    purpose: 'code-signing',
    // The actual command line of the tool contains temporary paths. Approvers must see the same text when the tool runs again.
    asking: { program, commandLine: `sealwright sign ${fileName} (${program})`, fileName },
    asksForPin: false,
    patience: waitSeconds === undefined ? undefined : { seconds: waitSeconds, isResumable: tool.isRepeatable },
    reference,
    isQuiet,
    ...(sign && { sign }),
    onEnd: (result) => {
      ended = result;
      if (result.kind === 'signed') order.timestamps?.allow(result.signature);
    },
  };
  const environment = inUtf8(withoutProxy(surroundings.environment));
  const { code, printed } = await runWithKeys(run, { ...surroundings, environment });
  return { code, printed, ended };
}

async function failureOf(tool: FileTool, order: FileOrder, code: number, ended: SignatureResult | undefined) {
  const name = basename(order.file);
  if (ended?.kind === 'pending')
    return new ClientError(EXIT.pending, `Not signed yet; ${name} is unchanged. ${ended.detail} Repeat the command to continue.`); // prettier-ignore
  if (ended !== undefined && ended.kind !== 'signed')
    return new ClientError(EXIT.failed, `Not signed; ${name} is unchanged. ${ended.detail}${isTimed(tool, ended)}`);
  const { size } = await stat(order.file);
  // The tools report only that they failed, so check whether the disk is full.
  await assertSpace(dirname(order.out), size);
  return new ClientError(EXIT.failed, `${tool.program} failed (${code}); ${name} is unchanged.`);
}

function isTimed({ program, isRepeatable }: FileTool, { kind }: NotSigned): string {
  return kind === 'withdrawn' && !isRepeatable ? ` ${program} includes the signing time in the signature, so running it again creates a new request.` : ''; // prettier-ignore
}

async function hashOf(file: string): Promise<Buffer> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest();
}

/** Returns an environment with a UTF-8 locale. Builds often run without a locale, and Java then cannot find files with non-ASCII paths. */
function inUtf8(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LC_ALL: all, LC_CTYPE: characters, LANG: language } = environment;
  const locale = [all, characters, language].find((one) => one !== undefined && one !== '') ?? '';
  return /utf-?8$/i.test(locale) ? environment : { ...environment, LC_ALL: 'C.UTF-8' };
}

/** Returns an environment without a proxy for the timestamp relay, which listens on this machine. */
function withoutProxy(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const direct = [environment['NO_PROXY'] ?? environment['no_proxy'], '127.0.0.1'].filter(Boolean).join(',');
  return { ...environment, NO_PROXY: direct, no_proxy: direct };
}

function assertVerified({ program, args, expected, refused, isAccepted }: FileCheck, env: NodeJS.ProcessEnv): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: inUtf8(env) });
  const said = `${stdout}${stderr}`;
  const isRefused = refused?.exec(said)?.[0];
  const isGood = isAccepted ?? ((code: number) => code === 0);
  if (status !== null && isGood(status) && said.includes(expected) && isRefused === undefined) return;
  throw new ClientError(EXIT.failed, `${program} rejected the signed file, which was discarded: ${isRefused ?? lastLine(stderr, stdout)}`); // prettier-ignore
}

function lastLine(...outputs: string[]): string {
  return outputs.join('\n').trim().split('\n').at(-1) ?? '';
}
