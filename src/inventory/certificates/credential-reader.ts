import type { Draft } from '../model/document.js';
import { isKeybox } from '../openpgp/containers.js';
import { isPgpKeyring } from '../openpgp/keyring.js';
import { isBcfks } from './bcfks-store.js';
import { CredentialReading } from './credential-reading.js';
import { isJavaKeyStore } from './java-key-store.js';
import { readDerInto, readKeyboxInto, readKeyringInto, readTextInto } from './key-file-reading.js';
import { readBcfksInto, readJavaStoreInto, readPkcs12Into } from './key-store-reading.js';
import { isPkcs12Store } from './pkcs12-store.js';

export interface CredentialOptions {
  /** The place where it was found, which is also its source: a file on a host. */
  readonly source: string | undefined;
  /** Opens a key store, or encrypted private keys. */
  readonly password: string | undefined;
}

/**
 * Reads certificates and keys: PEM, DER, PKCS #7, PKCS #8, PKCS #12, JKS, JCEKS, BCFKS, OpenPGP keyrings, PuTTY key files, and SSH keys as
 * authorized_keys, known_hosts and .pub files have them, each recognized by its content. Of a private key only the public half is kept, of a secret
 * key only algorithm and length.
 *
 * @throws Problem 422 `document.format` when there is nothing of that, `key-store.password`, `key-store.cipher`.
 */
export function readCredentialFile(bytes: Buffer, { source, password = '' }: CredentialOptions): Draft {
  const reading = new CredentialReading(source);
  if (isJavaKeyStore(bytes)) readJavaStoreInto(reading, bytes, password);
  else if (isPkcs12Store(bytes)) readPkcs12Into(reading, bytes, password);
  else if (isKeybox(bytes)) readKeyboxInto(reading, bytes);
  else if (isBcfks(bytes)) readBcfksInto(reading, bytes, password);
  else if (bytes[0] === 0x30) readDerInto(reading, bytes, password);
  else if (isPgpKeyring(bytes)) readKeyringInto(reading, bytes);
  else readTextInto(reading, bytes, password);
  return reading.draft();
}
