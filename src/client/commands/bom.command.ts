import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { JsonObjectText } from '../../verifier/json-object-text.js';
import {
  faultsOfJsonSignature,
  type JsfSigner,
  jsfSignerOf,
  type JsonSignature,
  SignedText,
} from '../../verifier/json-signature.js';
import type { ApiClient } from '../api/api-client.js';
import { awaited, isFinalRequestStatus, type Request, secondsOf } from '../api/request-polling.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { FileState } from '../api/file-state.js';
import { OutputFile } from '../api/output-file.js';
import { type ListedKey, listSigningKeys } from '../api/signing-keys.js';

export const bom: ClientCommand = {
  name: 'bom',
  usage:
    'export FILE [--spec-version 1.6|1.7] | sign FILE --key NAME [--out FILE] [--wait SECONDS] [--request ID] | verify FILE [--key NAME]',
  meaning: 'exports the inventory as CycloneDX, adds a signature (JSF) to a document, or verifies the signature in it',
  options: {
    'spec-version': { type: 'string' },
    key: { type: 'string', short: 'k' },
    out: { type: 'string' },
    wait: { type: 'string' },
    request: { type: 'string' },
  },
  forms: {
    export: { uses: ['spec-version'], when: 'on bom export' },
    sign: { uses: ['key', 'out', 'wait', 'request'], when: 'on bom sign' },
    verify: { uses: ['key'], when: 'on bom verify' },
    whole: { uses: [], when: 'on bom verify without --key', isOffline: true },
  },
  formOf(options, [what]) {
    if (what === 'verify') return options['key'] === undefined ? 'whole' : 'verify';
    return what === 'sign' || what === 'export' ? what : undefined;
  },
  async run(invocation) {
    const [what, file, ...more] = invocation.positionals;
    if ((what !== 'export' && what !== 'sign' && what !== 'verify') || file === undefined || more.length > 0)
      throw usageError('Specify one of: export FILE, sign FILE, verify FILE.');
    if (what === 'export') return exported(invocation, file);
    return what === 'sign' ? sign(invocation, file) : verify(invocation, file, documentIn(file, await bytesOf(file)));
  },
};

/** Exports the whole inventory. The file is created only if the export is complete. */
async function exported({ options, api, print }: Invocation, file: string): Promise<ExitCode> {
  const version = text(options, 'spec-version') ?? '1.6';
  const output = await OutputFile.reserve(file);
  const document = await (await api()).stream(`/api/export/cyclonedx?version=${encodeURIComponent(version)}`);
  await output.replace((fresh) => pipeline(document, createWriteStream(fresh, { mode: 0o600 })));
  print({ files: [file], version }, [file]);
  return EXIT.done;
}

async function sign(invocation: Invocation, file: string): Promise<ExitCode> {
  const { options } = invocation;
  const before = await FileState.of(file);
  const bytes = await bytesOf(file);
  const document = documentIn(file, bytes);
  const name = text(options, 'key');
  if (name === undefined) throw usageError('bom sign requires --key.');
  const seconds = secondsOf(text(options, 'wait'));
  const output = await OutputFile.reserve(text(options, 'out') ?? file);
  const api = await invocation.api();
  const signer = signerOf(await findKey(api, name));
  const { facts, how, publicKey } = signer;
  const toSign = reading(file, () => new SignedText(document, facts, how.hash));
  const id = text(options, 'request');
  const order = { signer, digest: toSign.digest, file };
  const request = id === undefined ? await asked(api, order, seconds) : await awaited(api, id, seconds);
  const { requestId, status, failure, signature } = request;
  if (status === 'FAILED') throw new ClientError(EXIT.failed, `${failure?.detail} [${failure?.code}]`);
  if (signature === undefined) {
    invocation.note(`Not signed yet (${status}). Repeat the command later with --request ${requestId} --wait 60`);
    invocation.print({ requestId, status }, [requestId]);
    return EXIT.pending;
  }
  const value = base64Bytes(signature).toString('base64url');
  if (!toSign.isSignedBy(publicKey, how, value))
    throw new ClientError(
      EXIT.failed,
      'The signature is for a different document, or the key was just rotated. Run the command again.',
    );
  await before.assertCurrent(requestId, async () => (await bytesOf(file)).equals(bytes));
  await output.write(document.signedBy({ ...facts, value }), { requestId });
  invocation.print({ requestId, status, key: request.key, files: [output.path] }, [output.path]);
  return EXIT.done;
}

interface Order {
  readonly signer: JsfSigner;
  readonly digest: Buffer;
  readonly file: string;
}

/** Requests a signature. Only the digest is sent to the service. Key constraints and approvals apply as for every signature. */
async function asked(api: ApiClient, { signer, digest, file }: Order, seconds: number): Promise<Request> {
  const body = {
    digest: digest.toString('base64'),
    algorithm: signer.how.hash,
    key: signer.facts.keyId,
    scheme: signer.scheme,
    metadata: { filename: basename(file) },
  };
  const headers = { 'idempotency-key': randomUUID() };
  const request: Request = await api.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
  return isFinalRequestStatus(request) ? request : awaited(api, request.requestId, seconds);
}

async function verify({ options, api, print }: Invocation, file: string, document: JsonObjectText): Promise<ExitCode> {
  const { keyId, algorithm } = (document.members['signature'] ?? {}) as Partial<JsonSignature>;
  const named = text(options, 'key');
  const faults = await faultsBy(await api(), { file, document, name: named ?? keyId, mustExist: named !== undefined });
  const valid = faults.length === 0;
  print({ valid, keyId, algorithm, faults }, [
    ...faults.map((fault) => `BAD ${fault}`),
    valid ? `valid: ${algorithm} by ${keyId ?? 'an unnamed key'}` : 'NOT VALID',
  ]);
  return valid ? EXIT.done : EXIT.failed;
}

interface Verification {
  readonly file: string;
  readonly document: JsonObjectText;
  /** Name of a signing key, from the caller or the document. */
  readonly name: unknown;
  readonly mustExist: boolean;
}

/**
 * Verifies the document's signature with a signing key of the service and returns the faults. Returns an empty array if any version of the key verifies the
 * signature. The document may name the key, but the public key in the document is never trusted.
 */
async function faultsBy(api: ApiClient, { file, document, name, mustExist }: Verification): Promise<string[]> {
  if (typeof name !== 'string') return ['the document does not name a signing key. Specify one with --key NAME'];
  const isKnown = mustExist || (await listSigningKeys(api)).some((key) => key.name === name);
  if (!isKnown) return [`the service has no signing key named "${name}". Specify one with --key NAME`];
  let faults = [`signing key "${name}" has no version yet`];
  for (const key of await versionsOf(api, name)) {
    faults = reading(file, () => faultsOfJsonSignature(document, key));
    if (faults.length === 0) break;
  }
  return faults;
}

/** Returns the public keys of all versions of a key, because signatures made with earlier versions remain valid. */
async function versionsOf(api: ApiClient, name: string): Promise<KeyObject[]> {
  const { id } = await findKey(api, name);
  const { items }: { items: Partial<ListedKey>[] } = await api.call('GET', `/api/v1/signing-keys/${id}/versions`);
  return items.flatMap(({ publicKey }) => (publicKey === undefined ? [] : [createPublicKey(publicKey)]));
}

function signerOf({ name, type, publicKey = '' }: ListedKey): JsfSigner {
  const signer = jsfSignerOf(name, type, publicKey);
  if (signer === undefined) throw new ClientError(EXIT.failed, `JSF does not support keys of type ${type}.`);
  return signer;
}

async function findKey(api: ApiClient, name: string): Promise<ListedKey> {
  const keys = await listSigningKeys(api);
  const found = keys.find((key) => key.name === name && key.publicKey !== undefined);
  if (found !== undefined) return found;
  throw new ClientError(EXIT.failed, `Signing key "${name}" not found.`);
}

function bytesOf(file: string): Promise<Buffer> {
  return readFile(file).catch((error: Error) => {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${error.message}.`);
  });
}

function documentIn(file: string, bytes: Buffer): JsonObjectText {
  const document = reading(file, () => new JsonObjectText(bytes));
  if (document.members['bomFormat'] !== 'CycloneDX')
    throw new ClientError(EXIT.failed, `${file} is not a CycloneDX document.`);
  return document;
}

/** Runs `read` and reports syntax errors. List items are parsed lazily, so syntax errors can occur in `read`. */
function reading<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${error.message}.`);
  }
}
