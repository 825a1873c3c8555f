import bcrypt from 'bcrypt-pbkdf';
import { createDecipheriv, type KeyObject } from 'node:crypto';
import { writePem } from '../../formats/encoding/base64.js';
import { wireMpint, WireReader, wireString, wireUint32 } from '../../formats/ssh/wire.js';
import { type SshPublicKey } from '../../formats/ssh/public-key.js';
import { ecKey, ed25519Key, rsaKey } from './key-parts.js';
import { DSA, passphraseMissing, passphraseWrong, tooCostly, unreadable, unsupported } from './private-key-fault.js';
import { truncate } from '../../platform/text/truncate.js';
import { ownProperty } from '../../formats/encoding/own-property.js';

/** Initial bytes of a key in `openssh-key-v1` format (OpenSSH's PROTOCOL.key). */
const MAGIC = Buffer.from('openssh-key-v1\0');
/** Maximum number of bcrypt rounds. ssh-keygen uses 24 by default, and users rarely set more than a few hundred. Each round takes a few milliseconds. */
const MAX_ROUNDS = 1000;
const SEED_BYTES = 32;
const BLOCK = 8;

interface Cipher {
  readonly name: string;
  readonly keyBytes: number;
  readonly ivBytes: number;
  readonly tagBytes: number;
}

const cipher = (name: string, keyBytes: number, ivBytes: number, tagBytes = 0): Cipher => ({
  name,
  keyBytes,
  ivBytes,
  tagBytes,
});
const CIPHERS: Readonly<Record<string, Cipher>> = {
  'aes128-cbc': cipher('aes-128-cbc', 16, 16),
  'aes192-cbc': cipher('aes-192-cbc', 24, 16),
  'aes256-cbc': cipher('aes-256-cbc', 32, 16),
  'aes128-ctr': cipher('aes-128-ctr', 16, 16),
  'aes192-ctr': cipher('aes-192-ctr', 24, 16),
  'aes256-ctr': cipher('aes-256-ctr', 32, 16),
  '3des-cbc': cipher('des-ede3-cbc', 24, 8),
  'aes128-gcm@openssh.com': cipher('aes-128-gcm', 16, 12, 16),
  'aes256-gcm@openssh.com': cipher('aes-256-gcm', 32, 12, 16),
  'chacha20-poly1305@openssh.com': cipher('chacha20', 64, 0, 16),
};

export interface ReadKey {
  readonly key: KeyObject;
  /** Public key in the file, if the file contains one in addition to the private key. */
  readonly publicBlob?: Buffer;
}

/** Reads a key in `openssh-key-v1` format. Throws PrivateKeyFault, or RangeError if the bytes end too early. */
export function readOpenSshKey(body: Buffer, passphrase: string | undefined): ReadKey {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw unreadable('is damaged: it does not begin with openssh-key-v1');
  const reader = new WireReader(body.subarray(MAGIC.length));
  const [cipherName, kdf, options] = [reader.text(), reader.text(), reader.string()];
  if (reader.uint32() !== 1) throw unreadable('contains more than one key');
  const publicBlob = reader.string();
  assertUsable(new WireReader(publicBlob).text());
  const sealed = reader.string();
  const tag = body.subarray(MAGIC.length + reader.position);
  if (cipherName === 'none')
    return { key: keyIn(sealed, unreadable('is damaged: its check integers differ')), publicBlob };
  if (passphrase === undefined) throw passphraseMissing();
  const method = ownProperty(CIPHERS, cipherName);
  if (method === undefined || kdf !== 'bcrypt')
    throw unsupported(`is encrypted with ${truncate(cipherName, 60)} and ${truncate(kdf, 60)}, which is not supported`);
  const derived = derive(passphrase, options, method.keyBytes + method.ivBytes);
  return { key: keyIn(opened(method, derived, sealed, tag), passphraseWrong()), publicBlob };
}

/** Throws PrivateKeyFault for key types that the service cannot use for logins. The type is not encrypted, so no passphrase is needed. */
export function assertUsable(type: string): void {
  if (type === 'ssh-dss') throw unsupported(DSA);
  if (type.startsWith('sk-'))
    throw unsupported('is a security key handle (FIDO) and signs only on the machine with the device: use another key');
  if (!/^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521))$/.test(type))
    throw unsupported(
      `has the type ${type.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 60)}, which is not supported for logins`,
    );
}

function derive(passphrase: string, options: Buffer, length: number): Buffer {
  const reader = new WireReader(options);
  const [salt, rounds] = [reader.string(), reader.uint32()];
  if (rounds > MAX_ROUNDS)
    throw tooCostly(`uses ${rounds} bcrypt rounds; the maximum is ${MAX_ROUNDS} (ssh-keygen -p -a 100)`);
  const secret = Buffer.from(passphrase);
  const key = Buffer.alloc(length);
  if (bcrypt.pbkdf(secret, secret.length, salt, salt.length, key, key.length, rounds) !== 0)
    throw unreadable('is damaged: its key derivation parameters are invalid');
  return key;
}

function opened(method: Cipher, derived: Buffer, sealed: Buffer, tag: Buffer): Buffer {
  if (tag.length !== method.tagBytes) throw unreadable('is damaged: the length of the authentication tag is wrong');
  if (method.name === 'chacha20') return chacha(derived, sealed);
  const key = derived.subarray(0, method.keyBytes);
  const stream = createDecipheriv(method.name, key, derived.subarray(method.keyBytes));
  stream.setAutoPadding(false);
  if (method.tagBytes > 0 && 'setAuthTag' in stream) (stream as { setAuthTag(tag: Buffer): void }).setAuthTag(tag);
  try {
    return Buffer.concat([stream.update(sealed), stream.final()]);
  } catch {
    throw passphraseWrong();
  }
}

/**
 * Decrypts chacha20-poly1305@openssh.com (PROTOCOL.chacha20poly1305) with packet number 0. Block 0 yields the Poly1305 key, and the content begins at block 1.
 * Node does not provide Poly1305 separately. Instead of the authentication tag, the check integers are verified, and the private key is compared with the
 * public key.
 */
function chacha(derived: Buffer, sealed: Buffer): Buffer {
  const counter = Buffer.alloc(16);
  counter.writeUInt8(1);
  const stream = createDecipheriv('chacha20', derived.subarray(0, SEED_BYTES), counter);
  return Buffer.concat([stream.update(sealed), stream.final()]);
}

function keyIn(plain: Buffer, otherwise: Error): KeyObject {
  const reader = new WireReader(plain);
  if (plain.length < BLOCK || reader.uint32() !== reader.uint32()) throw otherwise;
  const type = reader.text();
  assertUsable(type);
  if (type === 'ssh-ed25519') {
    reader.string();
    return ed25519Key(reader.string().subarray(0, SEED_BYTES));
  }
  if (type === 'ssh-rsa') {
    const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => reader.string()) as [Buffer, ...Buffer[]];
    return rsaKey({ n, e, d, p, q, qi } as Parameters<typeof rsaKey>[0]);
  }
  const curve = reader.text();
  reader.string();
  return ecKey(curve, reader.string());
}

/** Encodes the key as unencrypted `openssh-key-v1` in PEM. The result must be sealed immediately. */
export function writeOpenSshKey(key: KeyObject, { type, blob }: SshPublicKey): string {
  const check = Buffer.alloc(4, 1);
  const inner = Buffer.concat([check, check, wireString(type), ...privateFields(key, type), wireString('')]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (inner.length % BLOCK)) % BLOCK }, (_, i) => i + 1));
  const body = Buffer.concat([
    MAGIC,
    ...['none', 'none', ''].map((text) => wireString(text)),
    wireUint32(1),
    wireString(blob),
    wireString(Buffer.concat([inner, padding])),
  ]);
  return writePem('OPENSSH PRIVATE KEY', body, { width: 70 });
}

function privateFields(key: KeyObject, type: string): Buffer[] {
  const jwk = key.export({ format: 'jwk' });
  const part = (value: string | undefined) => Buffer.from(value ?? '', 'base64url');
  if (type === 'ssh-ed25519') return [wireString(part(jwk.x)), wireString(Buffer.concat([part(jwk.d), part(jwk.x)]))];
  if (type === 'ssh-rsa') return [jwk.n, jwk.e, jwk.d, jwk.qi, jwk.p, jwk.q].map((value) => wireMpint(part(value)));
  const point = Buffer.concat([Buffer.from([4]), part(jwk.x), part(jwk.y)]);
  return [wireString(type.replace('ecdsa-sha2-', '')), wireString(point), wireMpint(part(jwk.d))];
}
