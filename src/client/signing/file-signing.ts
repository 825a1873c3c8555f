import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DetachedFile } from '../agent/collect/detached-file.js';
import type { ToolSurroundings } from '../agent/exec/tool-session.js';
import { readAgentKeys } from '../agent/signer/agent-keys.js';
import type { DigestName } from '../agent/signer/remote-signer.js';
import type { TimestampPlace } from '../agent/tools/file-tool.js';
import { type FileWork, type JointlySigned, type JointWork, signTogether } from '../agent/tools/joint-signing.js';
import { signFile } from '../agent/tools/signed-file.js';
import { TimestampRelay } from '../agent/tools/timestamp-relay.js';
import { secondsOf } from '../api/request-polling.js';
import { type Invocation, text } from '../api/command.js';
import { EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { detachedSettings } from './detached-signing.js';
import { assertReadable, assertSumsStayTrue, type SignTarget } from './sign-targets.js';

/**
 * signFiles signs files with one approval. Files of a kind that has a tool get an embedded signature, all other files a detached signature.
 *
 * @param isSingle whether a single file gets an embedded signature, which its tool requests without a batch
 */
export async function signFiles(
  invocation: Invocation,
  targets: readonly SignTarget[],
  isSingle: boolean,
): Promise<ExitCode> {
  const { options, environment, note } = invocation;
  const name = text(options, 'key');
  if (name === undefined) throw usageError(`${targets[0]?.tool?.program ?? 'sign'} requires a key: --key NAME.`); // prettier-ignore
  const wait = text(options, 'wait');
  const waitSeconds = wait === undefined ? undefined : secondsOf(wait);
  await assertReadable(targets);
  await assertSumsStayTrue(targets);
  const api = await invocation.api();
  const { variables, runtimeDirectory } = environment;
  const surroundings = { api, environment: variables, runtimeDirectory, note };
  const reference = text(options, 'reference');
  const hasTools = targets.some(({ tool }) => tool !== undefined);
  const [key] = hasTools ? await readAgentKeys(api, { protocol: 'pkcs11', purpose: 'code-signing', names: [name], note }) : []; // prettier-ignore
  const stamps = hasTools && options['timestamp'] === true;
  const signed = await withTimestamps(stamps, surroundings, async (timestamps) => {
    const embedded: FileWork[] = targets.flatMap(({ file, tool }) => {
      if (tool === undefined || key === undefined) return [];
      const out = text(options, 'out') ?? file;
      const algorithm = text(options, 'algorithm') as DigestName | undefined;
      const authorities = text(options, 'authorities');
      return [{ tool, signing: { file, out, key, authorities, algorithm, timestamps, reference, waitSeconds } }];
    });
    const detached: DetachedFile[] = [];
    for (const { file, tool } of targets)
      if (tool === undefined) detached.push(await DetachedFile.read(file, detachedSettings(options, note)));
    const work = { embedded, detached, key: key ?? { id: name, name }, reference, waitSeconds };
    return isSingle ? alone(work, surroundings) : signTogether(work, surroundings);
  });
  return show(invocation, { name, ...(key !== undefined && { version: key.version }) }, signed);
}

async function alone({ embedded }: JointWork, surroundings: ToolSurroundings): Promise<JointlySigned> {
  const signed = [];
  for (const { tool, signing } of embedded) signed.push(await signFile(tool, signing, surroundings));
  return { embedded: signed, detached: [] };
}

/** Runs `work` with a relay through which tools can get timestamps from the service, if timestamps are requested. */
async function withTimestamps<Result>(
  isWanted: boolean,
  { api, runtimeDirectory }: ToolSurroundings,
  work: (timestamps: TimestampPlace | undefined) => Promise<Result>,
): Promise<Result> {
  if (!isWanted) return work(undefined);
  const directory = await mkdtemp(join(runtimeDirectory, 'sealwright-'));
  const relay = await TimestampRelay.open(api, directory).catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true });
    throw error;
  });
  try {
    return await work(relay.place);
  } finally {
    relay.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function show({ note, print }: Invocation, key: object, { embedded, detached }: JointlySigned): ExitCode {
  for (const { file, unchecked } of embedded)
    if (unchecked !== undefined) note(`${file} was not verified: ${unchecked}`);
  const [first, ...more] = embedded;
  const isOne = first !== undefined && more.length + detached.length === 0;
  const shown = isOne ? first : { files: [...embedded, ...detached.map((file) => ({ file }))] };
  print({ status: 'SIGNED', key, ...shown }, [...embedded.map(({ file }) => file), ...detached]);
  return EXIT.done;
}
