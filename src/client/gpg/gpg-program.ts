import { armored, dearmored } from '../../formats/openpgp/armor.js';
import { soonEnd } from '../agent/signer/key-certificates.js';
import { askingProgramOf, type AskingProgram } from '../agent/signer/agent-metadata.js';
import { type NotSigned, RemoteSigner } from '../agent/signer/remote-signer.js';
import type { ApiClient } from '../api/api-client.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { descriptorOf, type GpgCall, lastValue, readGpgCall } from './gpg-arguments.js';
import { GpgConsole } from './gpg-console.js';
import { agentKeyOf, type GpgKey, gpgKeysNamed, readGpgKeys } from './gpg-keys.js';
import { colonListing, plainListing, gpgValidityOf } from './gpg-listing.js';
import { considered, makeSignature, type SignDigest } from './gpg-signing.js';
import { realProgram, runReal } from './real-gpg.js';
import { readFileSync } from 'node:fs';

interface GpgSurroundings {
  readonly variables: NodeJS.ProcessEnv;
  api(): Promise<ApiClient>;
}

/** Environment variable with the name of the default signing key. */
const KEY_VARIABLE = 'SEALWRIGHT_GPG_KEY';
/** Exit code of gpg on errors. */
const FAILED = 2;

/** libgpg-error codes with gpg as the error source, as used in `FAILURE` lines. */
const SOURCE_GPG = 2 << 24;
const ERROR_NUMBER = { rejected: 251, refused: 251, expired: 62, withdrawn: 99, pending: 62, unavailable: 77 } as const;
const NO_SECRET_KEY = 17;
const GENERAL = 1;
/** gpg's names for the operations in `FAILURE` lines. */
const NAMES = { detach: 'sign', clearsign: 'sign', inline: 'sign', list: 'list', export: 'export' } as const;

/** Performs operations that use the service's keys, and runs the real gpg for all other operations. Returns the exit code. */
export async function gpg(args: readonly string[], surroundings: GpgSurroundings): Promise<number> {
  const call = readGpgCall(args);
  const { variables } = surroundings;
  if (call.task === 'other') return runReal(realProgram('gpg', variables), args, descriptorsOf(call));
  const console = new GpgConsole(descriptor(call, 'status-fd'), descriptor(call, 'logger-fd'));
  try {
    const api = await surroundings.api();
    const keys = await readGpgKeys(api);
    if (call.task === 'list') return list(call, keys, console);
    if (call.task === 'export') return exported(call, keys, console);
    return await sign(call, { args, api, keys, console, variables });
  } catch (error) {
    if (!(error instanceof ClientError) && !isOfTheSystem(error)) throw error;
    console.note(error.message);
    console.status(`FAILURE ${NAMES[call.task]} ${SOURCE_GPG | GENERAL}`);
    return FAILED;
  }
}

function descriptor(call: GpgCall, option: string): number | undefined {
  const given = lastValue(call, option);
  return given === undefined ? undefined : Number(given);
}

/** Reports whether an error is a system error, such as a missing or inaccessible file. */
function isOfTheSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function descriptorsOf(call: GpgCall): number[] {
  const named = ['status-fd', 'logger-fd', 'attribute-fd', 'command-fd', 'passphrase-fd'].map((name) =>
    lastValue(call, name),
  );
  const special = [...call.operands, lastValue(call, 'output') ?? ''].map((name) => descriptorOf(call, name));
  return [...named.map(Number), ...special].filter((fd): fd is number => Number.isInteger(fd) && Number(fd) >= 0);
}

function list(call: GpgCall, keys: readonly GpgKey[], console: GpgConsole): number {
  const { operands, flags } = call;
  const wanted = operands.length === 0 ? keys : operands.flatMap((name) => gpgKeysNamed(keys, name));
  if (wanted.length === 0 && operands.length > 0) {
    console.note('error reading key: No secret key');
    return FAILED;
  }
  const listing = flags.has('with-colons') ? colonListing : plainListing;
  const now = new Date();
  console.out([...new Set(wanted)].flatMap((key) => listing(key, now)).map((line) => `${line}\n`).join('')); // prettier-ignore
  return EXIT.done;
}

function exported(call: GpgCall, keys: readonly GpgKey[], console: GpgConsole): number {
  const { operands, flags } = call;
  const wanted = operands.length === 0 ? keys : operands.flatMap((name) => gpgKeysNamed(keys, name));
  if (wanted.length === 0) {
    console.note('WARNING: nothing exported');
    return operands.length === 0 ? EXIT.done : FAILED;
  }
  const bytes = Buffer.concat([...new Set(wanted)].map(({ certificate }) => dearmored(certificate.trimEnd())));
  console.out(flags.has('armor') ? armored('PUBLIC KEY BLOCK', bytes) : bytes);
  return EXIT.done;
}

interface SignatureCall {
  readonly args: readonly string[];
  readonly api: ApiClient;
  readonly keys: readonly GpgKey[];
  readonly console: GpgConsole;
  readonly variables: NodeJS.ProcessEnv;
}

async function sign(call: GpgCall, { args, api, keys, console, variables }: SignatureCall): Promise<number> {
  const [named, ...more] = call.values.get('local-user') ?? [];
  const name = named ?? lastValue(call, 'default-key') ?? (variables[KEY_VARIABLE] || undefined);
  const key = signingKey(keys, name, console);
  if (key === undefined) return FAILED;
  // gpg creates one signature per key. A signature with only one of several keys would be incomplete.
  const other = more.find((one) => gpgKeysNamed(keys, one)[0]?.id !== key.id);
  if (other !== undefined)
    throw usageError(`only one key can sign, but "${other}" is a different key. Call gpg once per key.`);
  console.status(considered(key));
  const end = key.expiresAt === undefined ? undefined : soonEnd(key.expiresAt);
  if (end !== undefined) console.note(`sealwright: OpenPGP key ${key.name} expires ${end}`);
  const asking = callingProgram() ?? askingProgramOf('gpg', args);
  const ended = new AbortController();
  const release = watchForTheEnd(ended);
  const { publicKey }: { publicKey: string } = await api.call('GET', `/api/v1/signing-keys/${key.id}`);
  const note = (line: string): void => console.note(line);
  const signDigest: SignDigest = (hash, { digest, hashedPart }, fileName) =>
    new RemoteSigner(api, { protocol: 'openpgp', asking: { ...asking, fileName }, note }).sign({
      key: agentKeyOf(key, publicKey),
      digest,
      algorithm: hash,
      scheme: key.type.startsWith('rsa') ? 'rsa-pkcs1v15' : 'ecdsa-raw',
      purpose: 'openpgp',
      container: { format: 'openpgp', content: hashedPart },
      signal: ended.signal,
    });
  try {
    const failed = await makeSignature(call, key, publicKey, { signDigest, console });
    return failed === undefined ? EXIT.done : failure(failed, console);
  } finally {
    release();
  }
}

/** Returns the signing key. If no key can sign, reports the reason in the same way as gpg (`INV_SGNR`) and returns undefined. */
function signingKey(keys: readonly GpgKey[], name: string | undefined, console: GpgConsole): GpgKey | undefined {
  const [key, ...others] = name === undefined ? keys : gpgKeysNamed(keys, name);
  if (others.length > 0)
    throw usageError(
      `${name === undefined ? 'No key was specified, and several keys can sign' : `"${name}" matches several keys`}. Specify one by its fingerprint with -u.`,
    );
  const refusal = key === undefined ? { code: 9, why: 'No secret key' } : refusalOf(key);
  if (refusal === undefined) return key;
  console.status(`INV_SGNR ${refusal.code} ${name ?? ''}`);
  console.status(`FAILURE sign ${SOURCE_GPG | NO_SECRET_KEY}`);
  console.note(`skipped "${name ?? ''}": ${refusal.why}`);
  console.note('signing failed: No secret key');
  return undefined;
}

/** Returns the reason why a key cannot sign, with the code for INV_SGNR (GnuPG's doc/DETAILS), or undefined if the key can sign. */
function refusalOf(key: GpgKey): { code: number; why: string } | undefined {
  const validity = gpgValidityOf(key, new Date());
  if (validity === 'r') return { code: 4, why: 'Key revoked' };
  return validity === 'e' ? { code: 5, why: 'Key expired' } : undefined;
}

function failure({ kind, detail }: NotSigned, console: GpgConsole): number {
  console.note(`signing failed: ${detail}`);
  console.status(`FAILURE sign ${SOURCE_GPG | ERROR_NUMBER[kind]}`);
  return FAILED;
}

const LOOK_EVERY_MS = 1000;

/** Abandons the signature when this program is terminated or its parent process ends. */
function watchForTheEnd(ended: AbortController): () => void {
  const parent = process.ppid;
  const end = (): void => ended.abort(new Error('the calling program has exited'));
  const look = setInterval(() => process.ppid === parent || end(), LOOK_EVERY_MS);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, end);
  return () => {
    clearInterval(look);
    for (const signal of signals) process.off(signal, end);
  };
}

/** Returns the parent process of this program, such as git, with its command line, or undefined if the system does not provide it. */
export function callingProgram(): AskingProgram | undefined {
  try {
    const [command, ...args] = readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').split('\0').filter((word) => word !== ''); // prettier-ignore
    return command === undefined ? undefined : askingProgramOf(command, args);
  } catch {
    return undefined;
  }
}
