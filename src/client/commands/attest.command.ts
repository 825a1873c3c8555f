import { createHash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  type DsseEnvelope,
  IN_TOTO_PAYLOAD,
  inTotoEnvelope,
  preAuthEncoding,
  IN_TOTO_STATEMENT,
  SIGSTORE_BUNDLE,
} from '../../formats/dsse/dsse.js';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { awaited, isFinalRequestStatus, type Request, secondsOf } from '../api/awaiting.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { fileHashOf } from '../api/files.js';
import { readJson } from '../../platform/json/strict-json.js';

/** The default: SLSA provenance (slsa.dev/spec/v1.0). */
const PROVENANCE = 'https://slsa.dev/provenance/v1';

export const attest: ClientCommand = {
  name: 'attest',
  usage: 'FILE … --predicate JSON-FILE [--type URI] [--key NAME] [--envelope] [--wait SECONDS] [--out FILE]',
  meaning: 'signs what is said about files as an in-toto statement in a DSSE envelope, in a Sigstore bundle or bare',
  options: {
    predicate: { type: 'string' },
    type: { type: 'string' },
    key: { type: 'string', short: 'k' },
    envelope: { type: 'boolean' },
    wait: { type: 'string' },
    out: { type: 'string' },
  },
  async run(invocation) {
    const { options, positionals, print } = invocation;
    const [first] = positionals;
    const predicateFile = text(options, 'predicate');
    if (first === undefined || predicateFile === undefined) throw usageError('attest takes files and --predicate.');
    const payload = await payloadFor(positionals, text(options, 'type') ?? PROVENANCE, predicateFile);
    const request = await signed(invocation, payload, basename(first));
    if (request.signature === undefined) return pending(invocation, request);
    const signature = readJson(base64Bytes(request.signature)) as DsseEnvelope['signatures'][number];
    const bare = options['envelope'] === true;
    const out = text(options, 'out') ?? `${first}${bare ? '.intoto.json' : '.intoto.sigstore.json'}`;
    const envelope = inTotoEnvelope(payload, signature);
    await writeFile(out, `${JSON.stringify(bare ? envelope : bundleOf(envelope))}\n`);
    print({ requestId: request.requestId, status: request.status, key: request.key, files: [out] }, [out]);
    return EXIT.done;
  },
};

async function payloadFor(files: readonly string[], predicateType: string, predicateFile: string): Promise<Buffer> {
  const attested = [];
  for (const file of files) {
    const sha256 = base64Bytes(await fileHashOf(file, 'sha256')).toString('hex');
    attested.push({ name: basename(file), sha256 });
  }
  return statementAbout(attested, predicateType, await predicateIn(predicateFile));
}

async function predicateIn(file: string): Promise<unknown> {
  try {
    return readJson(await readFile(file));
  } catch (error) {
    throw new ClientError(
      EXIT.failed,
      `${file} is no JSON that can be read: ${error instanceof Error ? error.message : ''}`,
    );
  }
}

async function signed({ options, api }: Invocation, payload: Buffer, filename: string): Promise<Request> {
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
  const headers = { 'idempotency-key': randomUUID() };
  const request: Request = await client.call('POST', '/api/v1/sign/digest', { body, headers, repeatable: true });
  return isFinalRequestStatus(request) ? request : awaited(client, request.requestId, seconds);
}

function pending({ note, print }: Invocation, { requestId, status, failure }: Request): number {
  if (status === 'FAILED') throw new ClientError(EXIT.failed, `${failure?.detail} [${failure?.code}]`);
  note(`Not signed yet (${status}): wait for it with --wait SECONDS.`);
  print({ requestId, status }, [requestId]);
  return EXIT.pending;
}

interface AttestedFile {
  readonly name: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** An in-toto statement about files, as it is signed. */
export function statementAbout(files: readonly AttestedFile[], predicateType: string, predicate: unknown): Buffer {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }));
  return Buffer.from(JSON.stringify({ _type: IN_TOTO_STATEMENT, subject, predicateType, predicate }));
}

/** A Sigstore bundle v0.3 around an envelope; the key is named by the hint that its signature has. */
export function bundleOf(dsseEnvelope: DsseEnvelope) {
  const verificationMaterial = { publicKey: { hint: dsseEnvelope.signatures[0]?.keyid }, tlogEntries: [] };
  return { mediaType: SIGSTORE_BUNDLE, verificationMaterial, dsseEnvelope };
}
