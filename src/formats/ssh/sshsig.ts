import { createHash } from 'node:crypto';
import { isSignedBy } from './ssh-signature.js';
import { WireReader, wireString } from './wire.js';
import { fromBrokenBase64 } from '../encoding/base64.js';
import { sshFingerprintOf } from './public-key.js';

/** SSHSIG_MAGIC is the preamble of a signature and of the signed data (PROTOCOL.sshsig). */
export const SSHSIG_MAGIC = Buffer.from('SSHSIG', 'latin1');
const VERSION = 1;
/** SSHSIG_HASH_BYTES maps the hashes of the format to their lengths in bytes. */
export const SSHSIG_HASH_BYTES: Readonly<Record<string, number>> = { sha256: 32, sha512: 64 };
const ARMOR = /-----BEGIN SSH SIGNATURE-----\s([A-Za-z0-9+/=\s]{1,20000})-----END SSH SIGNATURE-----/;

export interface SignedMessage {
  readonly message: Buffer;
  /** Namespace of the signature. Signatures with another namespace are rejected. */
  readonly namespace: string;
}

/**
 * Reports whether an armored signature from `ssh-keygen -Y sign` (OpenSSH's PROTOCOL.sshsig) over the message was made with the private half of this key,
 * given as its blob. False for malformed signatures.
 */
export function isSshsigBy(key: Buffer, armored: string, { message, namespace }: SignedMessage): boolean {
  const base64 = ARMOR.exec(armored)?.[1];
  if (base64 === undefined) return false;
  try {
    const bytes = fromBrokenBase64(base64);
    if (bytes === undefined || !bytes.subarray(0, SSHSIG_MAGIC.length).equals(SSHSIG_MAGIC)) return false;
    const reader = new WireReader(bytes.subarray(SSHSIG_MAGIC.length));
    if (reader.uint32() !== VERSION || !reader.string().equals(key) || reader.text() !== namespace) return false;
    const reserved = reader.string();
    const hash = reader.text();
    const signature = reader.string();
    if (!reader.done || !Object.hasOwn(SSHSIG_HASH_BYTES, hash)) return false;
    const digest = createHash(hash).update(message).digest();
    const signed = [SSHSIG_MAGIC, wireString(namespace), wireString(reserved), wireString(hash), wireString(digest)];
    // SHA-1 signatures are not accepted (PROTOCOL.sshsig: RSA signs with SHA-2).
    if (new WireReader(signature).text() === 'ssh-rsa') return false;
    return isSignedBy(key, signature, Buffer.concat(signed));
  } catch {
    return false;
  }
}

/** RENEWAL_NAMESPACE is the namespace of the signatures (OpenSSH's PROTOCOL.sshsig) with which hosts prove possession of their key. */
export const RENEWAL_NAMESPACE = 'host-renewal@sealwright';

/**
 * Returns the message that a host signs to renew its certificate: the SHA-256 fingerprint of the certificate in SSH notation, a space, and the time as
 * YYYY-MM-DDTHH:MM:SS.sssZ.
 */
export function renewalMessage(certificate: Buffer, signedAt: Date): string {
  return `${sshFingerprintOf(certificate)} ${signedAt.toISOString()}`;
}
