import { randomUUID } from 'node:crypto';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { readAgentKeys } from '../agent/signer/agent-keys.js';
import type { FileTool } from '../agent/tools/file-tool.js';
import { fileToolFor } from '../agent/tools/file-tools.js';
import { signCollected, signFile } from '../agent/tools/signed-file.js';
import { awaited, isFinalRequestStatus, type Request, secondsOf } from '../api/awaiting.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { assertFormat, EXTENSION, fileHashOf, TOKEN_EXTENSION } from '../api/files.js';

export const sign: ClientCommand = {
  name: 'sign',
  usage:
    'FILE|DIRECTORY … [--key NAME] [--format raw|cms|jws|sigstore-bundle] [--timestamp] [--wait SECONDS] [--request ID] [--authorities FILE] [--collect]',
  meaning:
    'hashes the file here, has the digest signed, and writes the signature beside it; without --format it signs .exe, .jar and others in themselves, by the tool for them',
  options: {
    key: { type: 'string', short: 'k' },
    format: { type: 'string', short: 'f' },
    algorithm: { type: 'string', short: 'a' },
    scheme: { type: 'string' },
    timestamp: { type: 'boolean' },
    reference: { type: 'string' },
    wait: { type: 'string' },
    out: { type: 'string' },
    request: { type: 'string' },
    authorities: { type: 'string' },
    collect: { type: 'boolean' },
  },
  async run(invocation) {
    const { options, positionals } = invocation;
    const id = text(options, 'request');
    if (text(options, 'format') === undefined && id === undefined) {
      const files = await filesIn(positionals);
      if (files !== undefined) return inThemselves(invocation, files);
    }
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0)
      throw usageError('sign takes one file, unless all are signed in themselves.');
    const request = id === undefined ? await asked(invocation, file) : await askedBefore(invocation, file, id);
    return finish(invocation, request, file);
  },
};

interface KnownFile {
  readonly file: string;
  readonly tool: FileTool;
}

/**
 * The files that were named, and those below the directories that were named; undefined when one that was named is signed by no tool. All are
 * there before the first is signed: ClientError when one is not.
 */
async function filesIn(names: readonly string[]): Promise<KnownFile[] | undefined> {
  const files: KnownFile[] = [];
  for (const name of names) {
    const there = await stat(name).catch((error: Error) => error);
    const isDirectory = !(there instanceof Error) && there.isDirectory();
    const found = isDirectory ? (await readdir(name, { recursive: true })).toSorted().map((one) => join(name, one)) : [name]; // prettier-ignore
    const known = found.flatMap((file) => {
      const tool = fileToolFor(file);
      return tool === undefined ? [] : [{ file, tool }];
    });
    if (!isDirectory && known.length === 0) return undefined;
    if (there instanceof Error) throw new ClientError(EXIT.failed, `${name} cannot be read: ${there.message}`);
    if (known.length === 0) throw usageError(`${name} holds no file that is signed in itself.`);
    files.push(...known);
  }
  return files.length === 0 ? undefined : files;
}

/** Files that hold their own signature are signed by the tool for their kind, under this key. */
async function inThemselves(invocation: Invocation, files: readonly KnownFile[]): Promise<ExitCode> {
  const { options, environment, note, print } = invocation;
  const [name, out] = [text(options, 'key'), text(options, 'out')];
  if (name === undefined) throw usageError(`${files[0]?.tool.program} signs by the key that you name: --key NAME.`);
  if (out !== undefined && files.length > 1) throw usageError('--out is for one file.');
  const api = await invocation.api();
  const [key] = await readAgentKeys(api, { protocol: 'pkcs11', purpose: 'code-signing', names: [name] });
  if (key === undefined) throw usageError(`There is no key "${name}".`);
  const { variables, runtimeDirectory } = environment;
  const surroundings = { api, environment: variables, runtimeDirectory, note };
  const authorities = text(options, 'authorities');
  const work = files.map(({ file, tool }) => ({ tool, signing: { file, out: out ?? file, key, authorities } }));
  const signed = options['collect'] === true ? await signCollected(work, surroundings) : [];
  if (options['collect'] !== true)
    for (const { tool, signing } of work) signed.push(await signFile(tool, signing, surroundings));
  for (const { file, unchecked } of signed) if (unchecked !== undefined) note(`${file} was not checked: ${unchecked}`);
  const [first] = signed;
  const shown = signed.length === 1 ? first : { files: signed };
  print({ status: 'SIGNED', key: { name: key.name, version: key.version }, ...shown }, signed.map(({ file }) => file)); // prettier-ignore
  return EXIT.done;
}

async function asked(invocation: Invocation, file: string): Promise<Request> {
  const { options } = invocation;
  const format = text(options, 'format') ?? 'raw';
  assertFormat(format);
  const seconds = secondsOf(text(options, 'wait'));
  const algorithm = text(options, 'algorithm') ?? 'sha256';
  const body = {
    digest: await fileHashOf(file, algorithm),
    algorithm,
    format,
    key: text(options, 'key'),
    scheme: text(options, 'scheme'),
    reference: text(options, 'reference'),
    timestamp: options['timestamp'] === true,
    metadata: { filename: basename(file) },
  };
  const api = await invocation.api();
  const headers = { 'idempotency-key': randomUUID() };
  const request: Request = await api.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
  return isFinalRequestStatus(request) ? request : awaited(api, request.requestId, seconds);
}

/** A request that waits for approval is finished later by the caller, who has the file. */
async function askedBefore(invocation: Invocation, file: string, id: string): Promise<Request> {
  const request = await awaited(await invocation.api(), id, secondsOf(text(invocation.options, 'wait')));
  if (request.digest === (await fileHashOf(file, request.algorithm))) return request;
  throw new ClientError(EXIT.failed, `The request ${id} is about another file than ${file}.`);
}

async function finish(invocation: Invocation, request: Request, file: string): Promise<ExitCode> {
  const { requestId, status, format, signature, timestamp, failure } = request;
  if (status === 'FAILED') throw new ClientError(EXIT.failed, `${failure?.detail} [${failure?.code}]`);
  if (signature === undefined) {
    invocation.note(`Not signed yet (${status}). Later: sealwright sign ${file} --request ${requestId} --wait 60`);
    invocation.print({ requestId, status }, [requestId]);
    return EXIT.pending;
  }
  const out = text(invocation.options, 'out') ?? `${file}${EXTENSION[format] ?? '.sig'}`;
  await writeFile(out, base64Bytes(signature));
  const files = [out];
  if (timestamp !== undefined && (format === 'raw' || format === 'jws')) {
    files.push(`${out}${TOKEN_EXTENSION}`);
    await writeFile(`${out}${TOKEN_EXTENSION}`, base64Bytes(timestamp));
  }
  invocation.print({ requestId, status, key: request.key, files }, files);
  return EXIT.done;
}

export const request: ClientCommand = {
  name: 'request',
  usage: 'ID [--wait SECONDS]',
  meaning: 'shows a signing request; ends with 0 when it is signed, 1 when it failed, 5 while it is pending',
  options: { wait: { type: 'string' } },
  async run({ options, positionals, api, print }) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw usageError('request takes one id.');
    const found = await awaited(await api(), id, secondsOf(text(options, 'wait')));
    const { status, key, failure, signature } = found;
    const failures = failure === undefined ? [] : [`${failure.detail} [${failure.code}]`];
    print(found, [
      `${status} by ${key.name} v${key.version}`,
      ...failures,
      ...(signature === undefined ? [] : [signature]),
    ]);
    if (status === 'SIGNED') return EXIT.done;
    return status === 'FAILED' ? EXIT.failed : EXIT.pending;
  },
};
