import { writePem } from '../encoding/base64.js';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type SshPublicKey, sshPublicKeyOf } from './public-key.js';
import { wireString, wireUint32 } from './wire.js';

export interface SshKeyPair {
  readonly publicKey: SshPublicKey;
  /** `openssh-key-v1` in PEM (OpenSSH's PROTOCOL.key), without a passphrase. Must be sealed immediately. */
  readonly privateKey: Buffer;
}

const BLOCK = 8;

/** Generates an Ed25519 key pair. */
export function newEd25519Pair(comment: string): SshKeyPair {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = sshPublicKeyOf(pair.publicKey);
  const jwk = pair.privateKey.export({ format: 'jwk' });
  const point = Buffer.from(jwk.x ?? '', 'base64url');
  const seed = Buffer.from(jwk.d ?? '', 'base64url');
  const check = randomBytes(4);
  const inner = Buffer.concat([
    check,
    check,
    publicKey.blob,
    wireString(Buffer.concat([seed, point])),
    wireString(comment),
  ]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (inner.length % BLOCK)) % BLOCK }, (_, i) => i + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    wireString('none'),
    wireString('none'),
    wireString(''),
    wireUint32(1),
    wireString(publicKey.blob),
    wireString(Buffer.concat([inner, padding])),
  ]);
  return { publicKey, privateKey: Buffer.from(writePem('OPENSSH PRIVATE KEY', body, { width: 70 })) };
}
