import { randomBytes } from 'node:crypto';
import { readPublicKeyLine } from '../../src/formats/ssh/public-key.js';
import { wireString, wireUint32 } from '../../src/formats/ssh/wire.js';

/**
 * Forges a private key file (OpenSSH's PROTOCOL.key) from the public half only. With `isProtected`, the file's header names a cipher and random bytes follow,
 * which ssh-keygen takes for a key with a passphrase. Otherwise, the file is a complete Ed25519 key with the private half of another key, and ssh-keygen still
 * prints the public half.
 */
export function forgedPrivateKey(publicKey: string, isProtected: boolean): string {
  const blob = readPublicKeyLine(publicKey)?.blob ?? Buffer.alloc(0);
  const [cipher, kdf] = isProtected ? ['aes256-ctr', 'bcrypt'] : ['none', 'none'];
  const options = isProtected ? Buffer.concat([wireString(randomBytes(16)), wireUint32(16)]) : Buffer.alloc(0);
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0', 'latin1'),
    wireString(cipher),
    wireString(kdf),
    wireString(options),
    wireUint32(1),
    wireString(blob),
    wireString(isProtected ? randomBytes(144) : forgedEd25519(blob)),
  ]);
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

function forgedEd25519(blob: Buffer): Buffer {
  const point = blob.subarray(-32);
  const check = randomBytes(4);
  const key = [wireString('ssh-ed25519'), wireString(point), wireString(Buffer.concat([randomBytes(32), point]))];
  const body = Buffer.concat([check, check, ...key, wireString('eve')]);
  const padding = Buffer.from(Array.from({ length: (8 - (body.length % 8)) % 8 }, (_, i) => i + 1));
  return Buffer.concat([body, padding]);
}
