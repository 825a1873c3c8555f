import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { armored } from '../../formats/openpgp/armor.js';
import { cleartextMessage } from '../../formats/openpgp/cleartext.js';
import { pgpSeconds } from '../../formats/openpgp/key-packet.js';
import { PGP_HASH, type PgpHash } from '../../formats/openpgp/signature-packet.js';
import type { NotSigned, SignatureResult } from '../agent/signer/remote-signer.js';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { FileState } from '../api/file-state.js';
import { OutputFile } from '../api/output-file.js';
import { descriptorOf, type GpgCall, lastValue } from './gpg-arguments.js';
import type { GpgConsole } from './gpg-console.js';
import {
  digestOfCleartext,
  digestOfDocument,
  type DocumentSource,
  type GpgDigest,
  readText,
  signatureTypeOf,
} from './gpg-document.js';
import type { GpgKey } from './gpg-keys.js';
import { gpgAlgorithmOf } from './gpg-listing.js';

/** Signs what was hashed, and answers the packet. `fileName`: where it is known. */
export type SignDigest = (hash: PgpHash, digest: GpgDigest, fileName: string | undefined) => Promise<SignatureResult>;

/** The hash that a curve needs at least (RFC 9580 section 5.2.3.2). */
const HASHES: Readonly<Record<string, readonly PgpHash[]>> = {
  'ec-p384': ['sha384', 'sha512'],
  'ec-p521': ['sha512'],
};
const ALL_HASHES = Object.keys(PGP_HASH) as PgpHash[];

/** Makes a detached or a clear signature. Answers what kept it from being made; nothing is written then. */
export async function makeSignature(
  call: GpgCall,
  key: GpgKey,
  publicKey: string,
  { signDigest, console }: { signDigest: SignDigest; console: GpgConsole },
): Promise<NotSigned | undefined> {
  const isClear = call.task === 'clearsign';
  const isText = isClear || call.flags.has('textmode');
  const hash = hashOf(call, key);
  const at = new Date();
  assertFree(call);
  const output = await reserved(call);
  const before = await documentStates(call);
  console.status(`BEGIN_SIGNING H${PGP_HASH[hash]}`);
  const spki = createPublicKey(publicKey).export({ type: 'spki', format: 'der' });
  const facts = { publicKey: spki, madeAt: key.createdAt, hash, at };
  const source = sourceOf(call);
  const text = isClear ? await readText(source) : undefined;
  const digest = text === undefined ? await digestOfDocument(source, facts, isText) : digestOfCleartext(text, facts);
  const result = await signDigest(hash, digest, fileNameOf(call));
  if (result.kind !== 'signed') return result;
  const { requestId } = result;
  const isSame = async () => (await digestOfDocument(source, facts, isText)).digest.equals(digest.digest);
  for (const state of before) await state.assertCurrent(requestId, text === undefined ? isSame : undefined);
  const signature = armored('SIGNATURE', result.signature);
  const bytes = text === undefined ? (call.flags.has('armor') ? Buffer.from(signature) : result.signature) : Buffer.concat([cleartextMessage(text, hash), Buffer.from(signature)]); // prettier-ignore
  if (typeof output === 'number') console.out(bytes, output);
  else await output.write(bytes, { requestId });
  const type = signatureTypeOf(isText).toString(16).padStart(2, '0');
  const algorithms = `${gpgAlgorithmOf(key).id} ${PGP_HASH[hash]}`;
  console.status(`SIG_CREATED ${isClear ? 'C' : 'D'} ${algorithms} ${type} ${pgpSeconds(at)} ${key.fingerprint}`);
  return undefined;
}

function hashOf(call: GpgCall, { type }: GpgKey): PgpHash {
  const fitting = HASHES[type] ?? ALL_HASHES;
  const asked = lastValue(call, 'digest-algo');
  if (asked === undefined) return fitting[0] ?? 'sha512';
  const hash = ALL_HASHES.find((one) => one === asked.toLowerCase() || `h${PGP_HASH[one]}` === asked.toLowerCase());
  if (hash !== undefined && fitting.includes(hash)) return hash;
  throw new ClientError(EXIT.usage, `--digest-algo ${asked}: a key of the type ${type} signs ${fitting.join(', ')}.`);
}

function sourceOf(call: GpgCall): DocumentSource {
  const passphraseFd = lastValue(call, 'passphrase-fd');
  return {
    places: call.operands.map((name) => descriptorOf(call, name) ?? (name === '-' ? 0 : name)),
    passphraseFd: passphraseFd === undefined ? undefined : Number(passphraseFd),
  };
}

function fileNameOf({ operands, values }: GpgCall): string | undefined {
  const [file] = operands;
  const named = values.get('set-filename')?.at(-1) ?? (file?.startsWith('-') === true ? undefined : file);
  return named === undefined || named === '' ? undefined : basename(named);
}

/** Where gpg writes: --output, else beside the file, else standard output. */
function outputOf(call: GpgCall): string | number {
  const given = lastValue(call, 'output');
  if (given !== undefined) return descriptorOf(call, given) ?? (given === '-' ? 1 : given);
  const [file] = call.operands;
  if (file === undefined || file === '-' || descriptorOf(call, file) !== undefined) return 1;
  return `${file}${call.flags.has('armor') || call.task === 'clearsign' ? '.asc' : '.sig'}`;
}

/** The files among the operands, as they are before they are hashed. */
function documentStates(call: GpgCall): Promise<FileState[]> {
  const files = call.operands.filter((name) => name !== '-' && descriptorOf(call, name) === undefined);
  return Promise.all(files.map((file) => FileState.of(file)));
}

/** Nobody is asked for a signature that could not be written. */
function assertFree(call: GpgCall): void {
  const output = outputOf(call);
  if (typeof output === 'number' || call.flags.has('yes') || !existsSync(output)) return;
  throw new ClientError(EXIT.failed, `${output} exists; remove it, or give --yes.`);
}

async function reserved(call: GpgCall): Promise<OutputFile | number> {
  const output = outputOf(call);
  return typeof output === 'number' ? output : OutputFile.reserve(output);
}

/** The line about which key is considered. */
export function considered(key: GpgKey): string {
  return `KEY_CONSIDERED ${key.fingerprint} 0`;
}
