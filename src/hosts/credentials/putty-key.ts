import { hashRaw } from '@node-rs/argon2';
import { createDecipheriv, createHash, createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { WireReader, wireString } from '../../formats/ssh/wire.js';
import { ecKey, ed25519Key, rsaKey } from './key-parts.js';
import { assertUsable, type ReadKey } from './openssh-key.js';
import { passphraseMissing, passphraseWrong, tooCostly, unreadable, unsupported } from './private-key-fault.js';
import { truncate } from '../../platform/text/truncate.js';
import { fromBrokenBase64 } from '../../formats/encoding/base64.js';
import { ownProperty } from '../../formats/encoding/own-property.js';

/** Maximum memory for Argon2 in KiB. puttygen uses 8192 by default. */
const MAX_MEMORY = 256 * 1024;
/** Maximum product of memory in KiB and passes. A key derivation at this limit takes a few seconds on one core. */
const MAX_WORK = 4 * 1024 * 1024;
const MAX_PARALLELISM = 16;
const MAX_LINES = 1000;
const ALGORITHMS: Readonly<Record<string, number>> = { Argon2d: 0, Argon2i: 1, Argon2id: 2 };
const KEY_BYTES = 32;
const IV_BYTES = 16;
const SEED_BYTES = 32;
/** Minimum salt length (RFC 9106 section 3.1). */
const MIN_SALT_BYTES = 8;

interface PuttyFile {
  readonly version: 2 | 3;
  readonly type: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly publicBlob: Buffer;
  readonly privateBytes: Buffer;
}

interface Secrets {
  readonly key: Buffer;
  readonly iv: Buffer;
  readonly macKey: Buffer;
}

/** Reads a PuTTY private key in format version 2 or 3 (PuTTY's manual, appendix C). Throws PrivateKeyFault, or RangeError if the bytes end too early. */
export async function readPuttyLoginKey(text: string, passphrase: string | undefined): Promise<ReadKey> {
  const file = fileOf(text);
  assertUsable(file.type);
  const encryption = file.headers.get('Encryption') ?? '';
  if (encryption !== 'none' && encryption !== 'aes256-cbc')
    throw unsupported(`is encrypted with ${truncate(encryption, 40)}, which is not supported`);
  const isEncrypted = encryption !== 'none';
  if (isEncrypted && passphrase === undefined) throw passphraseMissing();
  const secrets = isEncrypted ? await secretsOf(file, passphrase ?? '') : plainSecrets(file);
  const bytes = isEncrypted ? decrypted(secrets, file.privateBytes) : file.privateBytes;
  if (!hasMac(file, secrets.macKey, bytes))
    throw isEncrypted ? passphraseWrong() : unreadable('is damaged: its Private-MAC does not match');
  return { key: keyOf(file, bytes), publicBlob: file.publicBlob };
}

function fileOf(text: string): PuttyFile {
  const { headers, blocks } = partsOf(text);
  const [first = '', type = ''] = headers.entries().next().value ?? [];
  const version = Number(first.replace('PuTTY-User-Key-File-', ''));
  const [publicBlob, privateBytes] = [blocks.get('Public-Lines'), blocks.get('Private-Lines')];
  if (version !== 2 && version !== 3)
    throw unsupported(
      'is a PuTTY key of a version other than 2 or 3: open it with a current puttygen and save it again',
    );
  if (publicBlob === undefined || privateBytes === undefined || !headers.has('Private-MAC'))
    throw unreadable('is damaged: Public-Lines, Private-Lines or Private-MAC is missing');
  return { version, type: type.trim(), headers, publicBlob, privateBytes };
}

/** Parses `NAME: VALUE` lines in file order. A name that ends in `-Lines` is followed by that many lines of base64. */
function partsOf(text: string): { headers: Map<string, string>; blocks: Map<string, Buffer> } {
  const [headers, blocks] = [new Map<string, string>(), new Map<string, Buffer>()];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).replace(/^ /, '')];
    if (headers.has(name)) throw unreadable(`contains ${truncate(name, 40)} twice`);
    headers.set(name, value);
    if (!name.endsWith('-Lines')) continue;
    const count = Number(value);
    if (!Number.isInteger(count) || count < 0 || count > MAX_LINES) throw unreadable(`has no number after ${name}`);
    const block = fromBrokenBase64(lines.slice(at + 1, at + 1 + count).join(''));
    if (block === undefined)
      throw unreadable(`is damaged: the lines after ${truncate(name, 40)} are not complete base64`);
    blocks.set(name, block);
    at += count;
  }
  return { headers, blocks };
}

async function secretsOf(file: PuttyFile, passphrase: string): Promise<Secrets> {
  const secret = Buffer.from(passphrase);
  if (file.version === 3) return argon2Secrets(file, secret);
  const part = (number: number) =>
    createHash('sha1')
      .update(Buffer.from([0, 0, 0, number]))
      .update(secret)
      .digest();
  const key = Buffer.concat([part(0), part(1)]).subarray(0, KEY_BYTES);
  return { key, iv: Buffer.alloc(IV_BYTES), macKey: oldMacKey(secret) };
}

function plainSecrets({ version }: PuttyFile): Secrets {
  const none = Buffer.alloc(0);
  return { key: none, iv: none, macKey: version === 3 ? none : oldMacKey(none) };
}

function oldMacKey(secret: Buffer): Buffer {
  return createHash('sha1').update('putty-private-key-file-mac-key').update(secret).digest();
}

async function argon2Secrets({ headers }: PuttyFile, secret: Buffer): Promise<Secrets> {
  const algorithm = ownProperty(ALGORITHMS, headers.get('Key-Derivation') ?? '');
  const number = (name: string) => Number(/^\d{1,9}$/.exec(headers.get(name)?.trim() ?? '')?.[0]);
  const [memoryCost, timeCost, parallelism] = [
    number('Argon2-Memory'),
    number('Argon2-Passes'),
    number('Argon2-Parallelism'),
  ];
  const salt = Buffer.from(headers.get('Argon2-Salt')?.trim() ?? '', 'hex');
  if (algorithm === undefined || !(memoryCost > 0 && timeCost > 0 && parallelism > 0) || salt.length < MIN_SALT_BYTES)
    throw unreadable('is damaged: its Argon2 parameters cannot be parsed');
  if (memoryCost > MAX_MEMORY || memoryCost * timeCost > MAX_WORK || parallelism > MAX_PARALLELISM)
    throw tooCostly(
      `uses Argon2 with ${memoryCost} KiB and ${timeCost} passes, which exceeds the limit: save the key with lower parameters`,
    );
  const outputLen = KEY_BYTES + IV_BYTES + KEY_BYTES;
  const derived = await hashRaw(secret, { algorithm, memoryCost, timeCost, parallelism, salt, outputLen });
  return {
    key: derived.subarray(0, KEY_BYTES),
    iv: derived.subarray(KEY_BYTES, KEY_BYTES + IV_BYTES),
    macKey: derived.subarray(KEY_BYTES + IV_BYTES),
  };
}

function decrypted({ key, iv }: Secrets, bytes: Buffer): Buffer {
  if (bytes.length % IV_BYTES !== 0)
    throw unreadable('is damaged: its private part is not a multiple of the block size');
  const stream = createDecipheriv('aes-256-cbc', key, iv).setAutoPadding(false);
  return Buffer.concat([stream.update(bytes), stream.final()]);
}

function hasMac({ version, type, headers, publicBlob }: PuttyFile, macKey: Buffer, privateBytes: Buffer): boolean {
  const texts = [type, headers.get('Encryption') ?? '', headers.get('Comment') ?? ''];
  const signed = Buffer.concat([...texts, publicBlob, privateBytes].map((part) => wireString(part)));
  const mac = createHmac(version === 3 ? 'sha256' : 'sha1', macKey)
    .update(signed)
    .digest();
  const given = Buffer.from(headers.get('Private-MAC')?.trim() ?? '', 'hex');
  return given.length === mac.length && timingSafeEqual(given, mac);
}

function keyOf({ type, publicBlob }: PuttyFile, bytes: Buffer): KeyObject {
  const [open, secret] = [new WireReader(publicBlob), new WireReader(bytes)];
  open.string();
  if (type === 'ssh-ed25519') {
    // Little-endian number without trailing zeros.
    const seed = secret.string().subarray(0, SEED_BYTES);
    return ed25519Key(Buffer.concat([seed, Buffer.alloc(SEED_BYTES - seed.length)]));
  }
  if (type === 'ssh-rsa') {
    const [e, n] = [open.string(), open.string()];
    const [d, p, q, qi] = [secret.string(), secret.string(), secret.string(), secret.string()];
    return rsaKey({ n, e, d, p, q, qi });
  }
  return ecKey(open.text(), secret.string());
}
