/** PrivateKeyFaultReason is the reason that a private key cannot be used. Each reason has a Problem code (see private-keys.service.ts). */
export type PrivateKeyFaultReason =
  'unreadable' | 'unsupported' | 'passphrase-missing' | 'passphrase-wrong' | 'too-costly';

/** PrivateKeyFault is thrown for a private key that cannot be used. The message describes only the format and contains no part of the key. */
export class PrivateKeyFault extends Error {
  constructor(
    readonly reason: PrivateKeyFaultReason,
    message: string,
  ) {
    super(message);
  }
}

export const unreadable = (message: string): PrivateKeyFault => new PrivateKeyFault('unreadable', message);
export const unsupported = (message: string): PrivateKeyFault => new PrivateKeyFault('unsupported', message);
export const tooCostly = (message: string): PrivateKeyFault => new PrivateKeyFault('too-costly', message);

export function passphraseMissing(): PrivateKeyFault {
  return new PrivateKeyFault('passphrase-missing', 'is encrypted: send the passphrase as well');
}

export function passphraseWrong(): PrivateKeyFault {
  return new PrivateKeyFault('passphrase-wrong', 'does not decrypt the private key');
}

export const DSA = 'is a DSA key, which SSH servers no longer accept: use Ed25519, ECDSA or RSA';
