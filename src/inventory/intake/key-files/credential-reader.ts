import { withDefiniteLengths } from '../../../formats/asn1/ber-reader.js';
import { derHeader, MAX_HEADER_BYTES } from '../../../formats/asn1/der-reader.js';
import { fromBrokenBase64 } from '../../../formats/encoding/base64.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Draft } from '../../model/document.js';
import { isKeybox, isPgpKeyring } from './keyring.js';
import { isBcfks } from './bcfks-store.js';
import { isBks } from '../../../formats/java/bks.js';
import { CredentialReading, derivationsUsedUp } from './credential-reading.js';
import { isJavaKeyStore } from '../../../formats/java/key-store.js';
import { DerivationBudget } from '../../../formats/pkcs/password-encryption.js';
import { readDerInto, readKeyboxInto, readKeyringInto, readTextInto } from './key-file-reading.js';
import { readBcfksInto, readBksInto, readJavaStoreInto, readPkcs12Into } from './key-store-reading.js';
import { isPkcs12 } from '../../../formats/pkcs/pkcs12.js';

export interface CredentialOptions {
  /** Location of the file, such as a path on a host. The location is also the name of the source. */
  readonly source: string | undefined;
  /** Password of a key store or of encrypted private keys. */
  readonly password: string | undefined;
  /** Budget of key derivation rounds; defaults to the budget of one document. */
  readonly derivations?: DerivationBudget;
}

/**
 * readCredentialFile reads certificates and keys from PEM, DER, PKCS #7, PKCS #8, PKCS #12, JKS, JCEKS, BCFKS, BKS, OpenPGP keyrings, PuTTY key files,
 * authorized_keys, known_hosts and .pub files. The format is detected from the content. Only the public half of a private key, and only the algorithm and
 * length of a secret key, are kept.
 *
 * @throws Problem 422 `document.format` if the format is not recognized, `key-store.password`, `key-store.cipher`
 */
export function readCredentialFile(body: Buffer, options: CredentialOptions): Draft {
  const { source, password = '', derivations = new DerivationBudget() } = options;
  const file = unwrapped(body);
  if (isMangled(file)) throw damaged(MANGLED);
  const bytes = withDefiniteLengths(file);
  const reading = new CredentialReading(source, derivations);
  try {
    readInto(reading, bytes, password);
    // Without this check, secrets would be missing if the remaining budget is too small, and the result would depend on the time of the import.
    if (derivations.isShort) throw derivationsUsedUp();
    const draft = reading.draft();
    return draft.received === draft.rejected.length ? orDamaged(file, draft) : draft;
  } catch (error) {
    if (derivations.isShort) throw derivationsUsedUp();
    if (error instanceof Problem && error.code === 'document.format') throw orDamaged(file, error);
    throw error;
  }
}

/** Returns the result for a file from which nothing could be read. @throws Problem that describes the damage to the file, if the damage is recognized */
function orDamaged<Result>(file: Buffer, result: Result): Result {
  const damage = damageOf(file);
  if (damage !== undefined) throw damaged(damage);
  return result;
}

function readInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  if (isJavaKeyStore(bytes)) readJavaStoreInto(reading, bytes, password);
  else if (isBks(bytes)) readBksInto(reading, bytes, password);
  else if (isPkcs12(bytes)) readPkcs12Into(reading, bytes, password);
  else if (isKeybox(bytes)) readKeyboxInto(reading, bytes);
  else if (isBcfks(bytes)) readBcfksInto(reading, bytes, password);
  else if (bytes[0] === 0x30) readDerInto(reading, bytes, password);
  else if (isPgpKeyring(bytes)) readKeyringInto(reading, bytes);
  else readTextInto(reading, bytes, password);
}

/** MAX_WRAPPED_BYTES is the maximum size of a Base64 file. Real files of keys and certificates are smaller. */
const MAX_WRAPPED_BYTES = 16 * 1024 * 1024;

/**
 * Decodes a body that consists entirely of Base64, as in Kubernetes secrets and in certificates exported by Windows or used in SAML. Returns any other body
 * unchanged.
 */
function unwrapped(body: Buffer): Buffer {
  if (body.length > MAX_WRAPPED_BYTES || !/^[A-Za-z0-9+/=\s]{32,}$/.test(body.toString('latin1', 0, 64))) return body;
  const inner = fromBrokenBase64(body.toString('latin1'));
  return inner !== undefined && isKnownFile(inner) ? inner : body;
}

function isKnownFile(bytes: Buffer): boolean {
  if (isJavaKeyStore(bytes) || isBks(bytes) || isKeybox(bytes)) return true;
  return bytes[0] === 0x30 || bytes.toString('latin1', 0, 11) === '-----BEGIN ';
}

/** U+FFFD in UTF-8, with which programs replace invalid bytes. */
const REPLACEMENT = Buffer.from('\uFFFD');
const MANGLED =
  'is damaged: a program treated the binary file as text (Maven resource filtering, a terminal, FTP in text mode). Use the original';

/** Reports whether bytes of a binary file were replaced with U+FFFD. Four occurrences of the character in a binary file are not a coincidence. */
function isMangled(bytes: Buffer): boolean {
  let count = 0;
  for (let at = bytes.indexOf(REPLACEMENT); at !== -1 && count < 4; at = bytes.indexOf(REPLACEMENT, at + 3)) count += 1;
  return count === 4 && bytes.subarray(0, 1024).some((octet) => octet < 0x09);
}

/** Describes the damage to a file that begins like a supported file; undefined if no damage is recognized. */
function damageOf(bytes: Buffer): string | undefined {
  if (isJavaKeyStore(bytes))
    return 'begins like a Java key store, but was truncated or changed (FTP in text mode, git with autocrlf). Use the original';
  if (bytes.lastIndexOf('-----BEGIN ') > bytes.lastIndexOf('-----END '))
    return 'begins like PEM, but its END line is missing. Use the original';
  const length = bytes[0] === 0x30 ? lengthStated(bytes) : undefined;
  if (length === undefined || length <= bytes.length) return undefined;
  return `begins like DER, a key store or a certificate, but is truncated: the header declares ${length} bytes, but the file has ${bytes.length}`;
}

/** Header length of an element with fewer than 128 content octets. */
const SHORT_HEADER_BYTES = 2;

/**
 * Returns the length of a DER element including its header. Returns undefined if the length is indefinite or in the short form. An element with a length in the
 * short form is shorter than any key and may be text.
 */
function lengthStated(bytes: Buffer): number | undefined {
  try {
    const { start, length } = derHeader(bytes.subarray(0, MAX_HEADER_BYTES));
    return start === SHORT_HEADER_BYTES ? undefined : start + length;
  } catch {
    return undefined;
  }
}

function damaged(detail: string): Problem {
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer: '', detail }] });
}
