import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { sshPublicKeyOf, type SshPublicKey } from '../../formats/ssh/public-key.js';
import { plainText, privateKeyBlock, puttyStart } from './key-blocks.js';
import { type ReadKey, readOpenSshKey, writeOpenSshKey } from './openssh-key.js';
import { readPemKey } from './pem-key.js';
import { DSA, PrivateKeyFault, unreadable, unsupported } from './private-key-fault.js';
import { readPuttyLoginKey } from './putty-key.js';

export interface UsableKey {
  readonly publicKey: SshPublicKey;
  /** Unencrypted key in `openssh-key-v1` format, PEM-encoded. Must be sealed immediately. */
  readonly privateKey: string;
}

/** RSA key size limits in OpenSSH (sshkey.h, SSH_RSA_MINIMUM_MODULUS_SIZE). */
const RSA_BITS = { min: 1024, max: 16_384 };
const PROBE = Buffer.from('private key self-test');

/**
 * readLoginKey reads a private key in any common format: OpenSSH, PKCS #1, SEC 1, PKCS #8 and PuTTY, encrypted or not, with any line endings, and possibly
 * preceded by other text. Decryption can take seconds of CPU time, so call this function in a thread (private-keys.service.ts). Throws PrivateKeyFault.
 */
export async function readLoginKey(text: string, passphrase?: string): Promise<UsableKey> {
  try {
    // An empty form field is sent as an empty string, which is never a passphrase.
    const { key, publicBlob } = await readAny(plainText(text), passphrase || undefined);
    assertUsableKey(key);
    const publicKey = sshPublicKeyOf(createPublicKey(key));
    const isWhole =
      (publicBlob?.equals(publicKey.blob) ?? true) && verify(null, PROBE, createPublicKey(key), sign(null, PROBE, key));
    if (!isWhole) throw unreadable('is damaged: its private key does not match its public key');
    return { publicKey, privateKey: writeOpenSshKey(key, publicKey) };
  } catch (error) {
    if (error instanceof PrivateKeyFault) throw error;
    throw unreadable('is damaged: it cannot be parsed completely');
  }
}

async function readAny(text: string, passphrase: string | undefined): Promise<ReadKey> {
  const putty = puttyStart(text);
  if (putty !== -1) return readPuttyLoginKey(text.slice(putty), passphrase);
  const block = privateKeyBlock(text);
  if (block.label === 'OPENSSH PRIVATE KEY') return readOpenSshKey(block.body, passphrase);
  return { key: readPemKey(block, passphrase) };
}

function assertUsableKey({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): void {
  if (type === 'dsa') throw unsupported(DSA);
  const bits = details?.modulusLength ?? 0;
  if (type === 'rsa' && (bits < RSA_BITS.min || bits > RSA_BITS.max))
    throw unsupported(`is an RSA key of ${bits} bits; SSH supports ${RSA_BITS.min} to ${RSA_BITS.max}`);
  if (type === 'rsa' || type === 'ed25519') return;
  const curve = details?.namedCurve ?? 'explicit parameters';
  if (type !== 'ec') throw unsupported(`is a key of type ${type}, which SSH does not support`);
  if (!['prime256v1', 'secp384r1', 'secp521r1'].includes(curve))
    throw unsupported(`is on the curve ${curve}, which SSH does not support: use P-256, P-384 or P-521`);
}
