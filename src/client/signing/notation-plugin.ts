import { createHash } from 'node:crypto';
import { type AgentKey, readAgentKeys } from '../agent/signer/agent-keys.js';
import { RemoteSigner, type SignatureResult } from '../agent/signer/remote-signer.js';
import { askingProgramOf } from '../agent/signer/agent-metadata.js';
import type { ApiClient } from '../api/api-client.js';
import { ClientError, EXIT } from '../api/exit-codes.js';
import {
  CONTRACT,
  NotationError,
  type NotationErrorCode,
  notationKeyType,
  type NotationRequest,
  readNotationRequest,
  shownArtifact,
} from './notation-requests.js';

const METADATA = {
  name: 'sealwright',
  description: 'Signs with keys of Sealwright, after approval',
  version: '0.1.0',
  url: 'urn:sealwright:docs:tools',
  supportedContractVersions: [CONTRACT],
  capabilities: ['SIGNATURE_GENERATOR.RAW'],
};
const MAX_REQUEST_BYTES = 1024 * 1024;

const CODE_OF_END: Readonly<Record<string, NotationErrorCode>> = {
  rejected: 'ACCESS_DENIED',
  refused: 'ACCESS_DENIED',
  withdrawn: 'ACCESS_DENIED',
  expired: 'TIMEOUT',
  unavailable: 'ERROR',
};

/** Implements a notation plugin (notaryproject specifications, plugin-extensibility.md): one command, with a JSON request on standard input. */
export async function notationPlugin(
  [command = '']: readonly string[],
  api: () => Promise<ApiClient>,
): Promise<number> {
  try {
    process.stdout.write(`${JSON.stringify(await answerTo(command, api))}\n`);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof NotationError) && !(error instanceof ClientError)) throw error;
    const errorCode = error instanceof NotationError ? error.code : 'ERROR';
    process.stderr.write(`${JSON.stringify({ errorCode, errorMessage: error.message })}\n`);
    return EXIT.failed;
  }
}

async function answerTo(command: string, api: () => Promise<ApiClient>): Promise<object> {
  if (command === 'get-plugin-metadata') return METADATA;
  if (command !== 'describe-key' && command !== 'generate-signature')
    throw new NotationError('VALIDATION_ERROR', `unknown command "${command}"`);
  const request = readNotationRequest(await standardInput());
  const client = await api();
  const [key] = await readAgentKeys(client, { protocol: 'notation', purpose: 'code-signing', names: [request.keyId] });
  if (key === undefined) throw new NotationError('VALIDATION_ERROR', `key ${request.keyId} not found`);
  if (command === 'describe-key') return { keyId: request.keyId, keySpec: notationKeyType(key.type).keySpec };
  return signatureFor(client, key, request);
}

async function signatureFor(api: ApiClient, key: AgentKey, request: NotationRequest): Promise<object> {
  const { payload, keySpec, hashAlgorithm, keyId } = request;
  const type = notationKeyType(key.type);
  if (payload === undefined || keySpec !== type.keySpec || hashAlgorithm !== type.hashAlgorithm)
    throw new NotationError(
      'VALIDATION_ERROR',
      `the request must have a payload, keySpec ${type.keySpec} and hashAlgorithm ${type.hashAlgorithm}`,
    );
  if (key.chain.length === 0)
    throw new NotationError('VALIDATION_ERROR', `key "${key.name}" has no certificate, which notation requires`);
  const gone = new AbortController();
  const end = (): void => gone.abort(new Error('notation has exited'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  // notation reads standard error as one JSON object, so the user would not see a message.
  const note = (): void => undefined;
  const asking = askingProgramOf('notation', ['sign']);
  const result: SignatureResult = await new RemoteSigner(api, { protocol: 'notation', asking, note }).sign({
    key,
    digest: createHash(type.hash).update(payload).digest(),
    algorithm: type.hash,
    scheme: type.scheme,
    purpose: 'code-signing',
    shown: shownArtifact(payload),
    signal: gone.signal,
  });
  if (result.kind !== 'signed') throw new NotationError(CODE_OF_END[result.kind] ?? 'ERROR', result.detail);
  return {
    keyId,
    signature: result.signature.toString('base64'),
    signingAlgorithm: type.signingAlgorithm,
    certificateChain: key.chain.map((der) => der.toString('base64')),
  };
}

async function standardInput(): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of process.stdin) {
    length += (part as Buffer).length;
    if (length > MAX_REQUEST_BYTES) throw new NotationError('VALIDATION_ERROR', 'the request is too large');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString();
}
