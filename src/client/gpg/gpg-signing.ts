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
  digestOfContent,
  MAX_INLINE_BYTES,
  readWhole,
  signatureTypeOf,
} from './gpg-document.js';
import type { GpgKey } from './gpg-keys.js';
import { type InlineDocument, inlineMessage, type InlineSigner, signedContent } from './inline-message.js';
import { gpgAlgorithmOf } from './gpg-listing.js';

/** SignDigest signs a digest and returns the signature packet. `fileName` is set if the name is known. */
export type SignDigest = (hash: PgpHash, digest: GpgDigest, fileName: string | undefined) => Promise<SignatureResult>;

/** Permitted hashes for curves that require a minimum strength (RFC 9580 section 5.2.3.2). */
const HASHES: Readonly<Record<string, readonly PgpHash[]>> = {
  'ec-p384': ['sha384', 'sha512'],
  'ec-p521': ['sha512'],
};
const ALL_HASHES = Object.keys(PGP_HASH) as PgpHash[];

/** Creates a detached signature, a cleartext signature, or a signed message. On failure, returns the reason and writes nothing. */
export async function makeSignature(
  call: GpgCall,
  key: GpgKey,
  publicKey: string,
  { signDigest, console }: { signDigest: SignDigest; console: GpgConsole },
): Promise<NotSigned | undefined> {
  assertMakes(call);
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
  const whole = call.task === 'detach' ? undefined : await readWhole(source, isClear ? undefined : MAX_INLINE_BYTES);
  const name = fileNameOf(call);
  const digest = await digestFor(call, source, whole, facts, isText);
  const result = await signDigest(hash, digest, name);
  if (result.kind !== 'signed') return result;
  const { requestId } = result;
  const isSame = async () => (await digestOfDocument(source, facts, isText)).digest.equals(digest.digest);
  for (const state of before) await state.assertCurrent(requestId, isClear ? undefined : isSame);
  const type = signatureTypeOf(isText);
  const signer = { fingerprint: key.fingerprint, algorithm: gpgAlgorithmOf(key).id, hash, signatureType: type };
  const bytes = messageOf(call, { content: whole, isText, name: name ?? '', at }, signer, result.signature);
  if (typeof output === 'number') console.out(bytes, output);
  else await output.write(bytes, { requestId });
  const algorithms = `${signer.algorithm} ${PGP_HASH[hash]}`;
  const kind = { clearsign: 'C', inline: 'S' }[call.task as string] ?? 'D';
  console.status(
    `SIG_CREATED ${kind} ${algorithms} ${type.toString(16).padStart(2, '0')} ${pgpSeconds(at)} ${key.fingerprint}`,
  );
  return undefined;
}

/** gpg options for signature contents that are not supported. */
const UNMADE = [
  'sig-notation',
  'set-notation',
  'sig-policy-url',
  'set-policy-url',
  'sig-keyserver-url',
  'default-sig-expire',
  'ask-sig-expire',
  'faked-system-time',
  'for-your-eyes-only',
  'N',
];

function assertMakes({ values, flags }: GpgCall): void {
  const given = UNMADE.find((option) => values.has(option) || flags.has(option));
  if (given !== undefined) throw new ClientError(EXIT.usage, `--${given} has no effect on signatures with the service's keys. Omit it.`); // prettier-ignore
}

function digestFor(
  call: GpgCall,
  source: DocumentSource,
  whole: Buffer | undefined,
  facts: Parameters<typeof digestOfCleartext>[1],
  isText: boolean,
): GpgDigest | Promise<GpgDigest> {
  if (whole === undefined) return digestOfDocument(source, facts, isText);
  if (call.task === 'clearsign') return digestOfCleartext(whole, facts);
  return digestOfContent(signedContent({ content: whole, isText }), facts, isText);
}

function messageOf(
  call: GpgCall,
  document: Omit<InlineDocument, 'content'> & { readonly content: Buffer | undefined },
  signer: InlineSigner,
  signature: Buffer,
): Buffer {
  const { content } = document;
  const isArmored = call.flags.has('armor');
  if (content === undefined) return isArmored ? Buffer.from(armored('SIGNATURE', signature)) : signature;
  if (call.task === 'clearsign')
    return Buffer.concat([cleartextMessage(content, signer.hash), Buffer.from(armored('SIGNATURE', signature))]);
  const message = inlineMessage({ ...document, content }, signer, signature);
  return isArmored ? Buffer.from(armored('MESSAGE', message)) : message;
}

function hashOf(call: GpgCall, { type }: GpgKey): PgpHash {
  const fitting = HASHES[type] ?? ALL_HASHES;
  const asked = lastValue(call, 'digest-algo');
  if (asked === undefined) return fitting[0] ?? 'sha512';
  const hash = ALL_HASHES.find((one) => one === asked.toLowerCase() || `h${PGP_HASH[one]}` === asked.toLowerCase());
  if (hash !== undefined && fitting.includes(hash)) return hash;
  throw new ClientError(EXIT.usage, `--digest-algo ${asked}: keys of type ${type} support ${fitting.join(', ')}.`);
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

/** Returns where gpg writes the output: the path in --output, otherwise a file next to the document, otherwise standard output. */
function outputOf(call: GpgCall): string | number {
  const given = lastValue(call, 'output');
  if (given !== undefined) return descriptorOf(call, given) ?? (given === '-' ? 1 : given);
  const [file] = call.operands;
  if (file === undefined || file === '-' || descriptorOf(call, file) !== undefined) return 1;
  return `${file}${call.flags.has('armor') || call.task === 'clearsign' ? '.asc' : call.task === 'inline' ? '.gpg' : '.sig'}`;
}

/** Returns the states of the operand files before they are hashed. */
function documentStates(call: GpgCall): Promise<FileState[]> {
  const files = call.operands.filter((name) => name !== '-' && descriptorOf(call, name) === undefined);
  return Promise.all(files.map((file) => FileState.of(file)));
}

/** Throws if the output exists and --yes is not given, before an approval is requested. */
function assertFree(call: GpgCall): void {
  const output = outputOf(call);
  if (typeof output === 'number' || call.flags.has('yes') || !existsSync(output)) return;
  throw new ClientError(EXIT.failed, `${output} already exists. Remove it, or use --yes.`);
}

async function reserved(call: GpgCall): Promise<OutputFile | number> {
  const output = outputOf(call);
  return typeof output === 'number' ? output : OutputFile.reserve(output);
}

/** Returns the status line that names the considered key. */
export function considered(key: GpgKey): string {
  return `KEY_CONSIDERED ${key.fingerprint} 0`;
}
