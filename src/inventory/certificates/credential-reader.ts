import { withDefiniteLengths } from '../../formats/asn1/ber-reader.js';
import { fromBrokenBase64 } from '../../formats/encoding/base64.js';
import type { Draft } from '../model/document.js';
import { isKeybox, isPgpKeyring } from '../openpgp/keyring.js';
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
export function readCredentialFile(body: Buffer, { source, password = '' }: CredentialOptions): Draft {
  const reading = new CredentialReading(source);
  const bytes = withDefiniteLengths(unwrapped(body));
  if (isJavaKeyStore(bytes)) readJavaStoreInto(reading, bytes, password);
  else if (isPkcs12Store(bytes)) readPkcs12Into(reading, bytes, password);
  else if (isKeybox(bytes)) readKeyboxInto(reading, bytes);
  else if (isBcfks(bytes)) readBcfksInto(reading, bytes, password);
  else if (bytes[0] === 0x30) readDerInto(reading, bytes, password);
  else if (isPgpKeyring(bytes)) readKeyringInto(reading, bytes);
  else readTextInto(reading, bytes, password);
  return reading.draft();
}

/** Longer than any file of keys and certificates that somebody would hold as Base64. */
const MAX_WRAPPED_BYTES = 16 * 1024 * 1024;

/** The file that the whole body is the Base64 of, as secrets of Kubernetes and certificates of Windows and SAML are written; else the body. */
function unwrapped(body: Buffer): Buffer {
  if (body.length > MAX_WRAPPED_BYTES || !/^[A-Za-z0-9+/=\s]{32,}$/.test(body.toString('latin1', 0, 64))) return body;
  const inner = fromBrokenBase64(body.toString('latin1'));
  return inner !== undefined && isKnownFile(inner) ? inner : body;
}

function isKnownFile(bytes: Buffer): boolean {
  if (isJavaKeyStore(bytes) || isKeybox(bytes)) return true;
  return bytes[0] === 0x30 || bytes.toString('latin1', 0, 11) === '-----BEGIN ';
}
