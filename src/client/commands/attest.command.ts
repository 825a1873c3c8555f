import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  type DsseEnvelope,
  IN_TOTO_PAYLOAD,
  inTotoEnvelope,
  preAuthEncoding,
  IN_TOTO_STATEMENT,
  SIGSTORE_BUNDLE,
} from '../../formats/encoding/dsse.js';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { awaited, isFinalRequestStatus, type Request, secondsOf } from '../api/request-polling.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { expandPatterns } from '../api/file-names.js';
import { FileState } from '../api/file-state.js';
import { fileHashOf, type HashProgress } from '../api/files.js';
import { requestName } from '../api/request-name.js';
import { reportedProgress } from '../api/hash-progress.js';
import { OutputFile } from '../api/output-file.js';
import { readJson } from '../../platform/json/strict-json.js';

/** Default predicate type: SLSA provenance (slsa.dev/spec/v1.0). */
const PROVENANCE = 'https://slsa.dev/provenance/v1';

export const attest: ClientCommand = {
  name: 'attest',
  usage:
    'FILE … (--predicate JSON-FILE [--type URI] [--envelope] | --provenance) [--key NAME] [--wait SECONDS] [--out FILE]',
  meaning:
    'signs statements about files as in-toto statements in a DSSE envelope, in a Sigstore bundle or bare; with --provenance, the service attests how this pipeline run built the files',
  options: {
    predicate: { type: 'string' },
    type: { type: 'string' },
    key: { type: 'string', short: 'k' },
    envelope: { type: 'boolean' },
    wait: { type: 'string' },
    out: { type: 'string' },
    provenance: { type: 'boolean' },
  },
  forms: {
    predicate: { uses: ['predicate', 'type', 'key', 'envelope', 'wait', 'out'], when: 'when a predicate is signed' },
    provenance: { uses: ['provenance', 'key', 'wait', 'out'], when: 'when the service composes the provenance' },
  },
  formOf: (options) => (options['provenance'] === true ? 'provenance' : 'predicate'),
  async run(invocation) {
    const { options, positionals, print } = invocation;
    if (options['provenance'] === true) return provenance(invocation);
    const [first] = positionals;
    const predicateFile = text(options, 'predicate');
    if (first === undefined || predicateFile === undefined) throw usageError('attest requires files and --predicate.');
    const bare = options['envelope'] === true;
    const beside = `${first}${bare ? '.intoto.json' : '.intoto.sigstore.json'}`;
    const output = await OutputFile.reserveBeside(text(options, 'out'), beside);
    const { path } = output;
    const attested = await attestedFiles(positionals, reportedProgress(invocation.note));
    const type = text(options, 'type') ?? PROVENANCE;
    const payload = statementAbout(attested, type, await predicateIn(predicateFile));
    const request = await signed(invocation, payload, basename(first));
    if (request.signature === undefined) return pending(invocation, request);
    const signature = readJson(base64Bytes(request.signature)) as DsseEnvelope['signatures'][number];
    const envelope = inTotoEnvelope(payload, signature);
    const { requestId, status, key } = request;
    await assertUnchanged(attested, requestId);
    await output.write(`${JSON.stringify(bare ? envelope : bundleOf(envelope, key.name))}\n`, { requestId });
    print({ requestId, status, key, files: [path] }, [path]);
    return EXIT.done;
  },
};

async function attestedFiles(files: readonly string[], progress: HashProgress): Promise<(AttestedFile & Watched)[]> {
  const attested = [];
  for (const file of await expandPatterns(files)) {
    const before = await FileState.of(file);
    attested.push({ name: basename(file), sha256: await sha256Of(file, progress), before });
  }
  return attested;
}

async function sha256Of(file: string, progress?: HashProgress): Promise<string> {
  return base64Bytes(await fileHashOf(file, 'sha256', progress)).toString('hex');
}

/** Reads a predicate, which must be an object (in-toto attestation framework, Statement v1). */
async function predicateIn(file: string): Promise<object> {
  let predicate: unknown;
  try {
    predicate = readJson(await readFile(file));
  } catch (error) {
    throw new ClientError(EXIT.failed, `${file} is not valid JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof predicate === 'object' && predicate !== null && !Array.isArray(predicate)) return predicate;
  throw new ClientError(
    EXIT.failed,
    `${file} is not a JSON object. The predicate of an in-toto statement must be an object.`,
  );
}

async function signed({ options, environment, api }: Invocation, payload: Buffer, filename: string): Promise<Request> {
  const encoding = preAuthEncoding(IN_TOTO_PAYLOAD, payload);
  const body = {
    digest: createHash('sha256').update(encoding).digest('base64'),
    algorithm: 'sha256',
    format: 'dsse',
    key: text(options, 'key'),
    metadata: { filename, payloadType: IN_TOTO_PAYLOAD },
  };
  const seconds = secondsOf(text(options, 'wait'));
  const client = await api();
  const headers = { 'idempotency-key': requestName(environment.run, body) };
  const request: Request = await client.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
  return isFinalRequestStatus(request) ? request : awaited(client, request.requestId, seconds);
}

/** Attests provenance. The service creates the statement from the verified identity of the run, so that the caller cannot forge the statement. */
async function provenance(invocation: Invocation): Promise<number> {
  const { options, positionals, print } = invocation;
  const files = await expandPatterns(positionals);
  const [first] = files;
  if (first === undefined) throw usageError('attest requires at least one file.');
  const output = await OutputFile.reserveBeside(text(options, 'out'), `${first}.intoto.sigstore.json`);
  const seconds = secondsOf(text(options, 'wait'));
  const attested = await attestedFiles(files, reportedProgress(invocation.note));
  const subjects = attested.map(({ name, sha256 }) => ({
    name,
    digest: Buffer.from(sha256, 'hex').toString('base64'),
  }));
  const body = { subjects, key: text(options, 'key') };
  const api = await invocation.api();
  const headers = { 'idempotency-key': requestName(invocation.environment.run, body) };
  const made = await api.call('POST', '/api/v1/sign/attestation', { body, headers, repeatable: true });
  const asked = made.request as Request;
  const request = isFinalRequestStatus(asked) ? asked : await awaited(api, asked.requestId, seconds);
  if (request.signature === undefined) return pending(invocation, request);
  const { requestId, status, key, signature } = request;
  await assertUnchanged(attested, requestId);
  await output.write(base64Bytes(signature), { requestId });
  print({ requestId, status, key, files: [output.path] }, [output.path]);
  return EXIT.done;
}

async function assertUnchanged(attested: readonly (AttestedFile & Watched)[], requestId: string): Promise<void> {
  for (const { before, sha256 } of attested)
    await before.assertCurrent(requestId, async () => (await sha256Of(before.path)) === sha256);
}

function pending({ note, print }: Invocation, { requestId, status, failure }: Request): number {
  if (status === 'FAILED') throw new ClientError(EXIT.failed, `${failure?.detail} [${failure?.code}]`);
  note(`Not signed yet (${status}). Use --wait SECONDS to wait.`);
  print({ requestId, status }, [requestId]);
  return EXIT.pending;
}

interface Watched {
  /** State of the file when it was hashed. */
  readonly before: FileState;
}

interface AttestedFile {
  readonly name: string;
  /** SHA-256 of the file in hexadecimal. */
  readonly sha256: string;
}

/** Returns an in-toto statement about files, serialized for signing. */
export function statementAbout(files: readonly AttestedFile[], predicateType: string, predicate: object): Buffer {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }));
  return Buffer.from(JSON.stringify({ _type: IN_TOTO_STATEMENT, subject, predicateType, predicate }));
}

/** bundleOf returns a Sigstore bundle v0.3 that contains an envelope. `hint` helps a verifier find the public key and is not signed. */
export function bundleOf(dsseEnvelope: DsseEnvelope, hint: string) {
  const verificationMaterial = { publicKey: { hint }, tlogEntries: [] };
  return { mediaType: SIGSTORE_BUNDLE, verificationMaterial, dsseEnvelope };
}
