import { base64Bytes } from '../../formats/encoding/base64.js';
import { DetachedFile, type DetachedSettings } from '../agent/collect/detached-file.js';
import { awaited, isFinalRequestStatus, type Request, secondsOf } from '../api/request-polling.js';
import { type Invocation, type OptionValues, shellWord, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode } from '../api/exit-codes.js';
import { assertFormat } from '../api/files.js';
import { requestName } from '../api/request-name.js';
import { reportedProgress } from '../api/hash-progress.js';

/** Signs one file with a detached signature. */
export async function signDetached(invocation: Invocation, path: string): Promise<ExitCode> {
  const { options, environment, note } = invocation;
  const seconds = secondsOf(text(options, 'wait'));
  const file = await DetachedFile.read(path, detachedSettings(options, note));
  const { digest, fileName, ...facts } = file.facts;
  const body = {
    digest: digest.toString('base64'),
    ...facts,
    key: text(options, 'key'),
    reference: text(options, 'reference'),
    metadata: { filename: fileName },
  };
  const api = await invocation.api();
  const headers = { 'idempotency-key': requestName(environment.run, body) };
  const request: Request = await api.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
  const ended = isFinalRequestStatus(request) ? request : await awaited(api, request.requestId, seconds);
  return written(invocation, path, file, ended);
}

export function detachedSettings(options: OptionValues, note: (line: string) => void): DetachedSettings {
  const format = text(options, 'format') ?? 'raw';
  assertFormat(format);
  return {
    algorithm: text(options, 'algorithm') ?? 'sha256',
    format,
    scheme: text(options, 'scheme'),
    timestamp: options['timestamp'] === true,
    out: text(options, 'out'),
    progress: reportedProgress(note),
  };
}

/** Writes the signature of an earlier request for the file. The given options must match the request. */
export async function finishRequest(invocation: Invocation, path: string, request: Request): Promise<ExitCode> {
  const { options, note } = invocation;
  const { requestId, algorithm, format, digest } = request;
  const known = { key: request.key.name, algorithm, format };
  for (const [option, value] of Object.entries(known)) {
    const given = text(options, option);
    if (given !== undefined && given !== value)
      throw new ClientError(EXIT.failed, `Request ${requestId} has the ${option} ${value}, not ${given}.`);
  }
  const file = await DetachedFile.read(path, { ...detachedSettings(options, note), algorithm, format });
  if (!file.facts.digest.equals(base64Bytes(digest)))
    throw new ClientError(EXIT.failed, `Request ${requestId} is for a different file than ${path}.`);
  return written(invocation, path, file, request);
}

async function written(invocation: Invocation, path: string, file: DetachedFile, request: Request): Promise<ExitCode> {
  const { requestId, status, signature, timestamp, failure } = request;
  if (status === 'FAILED') throw new ClientError(EXIT.failed, `${failure?.detail} [${failure?.code}]`);
  if (signature === undefined) {
    invocation.note(`Not signed yet (${status}). To continue later: sealwright sign ${wordOf(path)} --request ${requestId} --wait 60`); // prettier-ignore
    invocation.print({ requestId, status }, [requestId]);
    return EXIT.pending;
  }
  const files = await file.write({
    kind: 'signed',
    requestId,
    signature: base64Bytes(signature),
    ...(timestamp !== undefined && { timestamp: base64Bytes(timestamp) }),
  });
  invocation.print({ requestId, status, key: request.key, files }, files);
  return EXIT.done;
}

/** Returns a path as one word of a shell command. A path without special characters needs no quotes. */
function wordOf(path: string): string {
  return /^[\w./+=@-]+$/.test(path) ? path : shellWord(path);
}
