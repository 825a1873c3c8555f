import { withDefiniteLengths } from '../../formats/asn1/ber-reader.js';
import { derHeader, MAX_HEADER_BYTES } from '../../formats/asn1/der-reader.js';
import { fromBrokenBase64 } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Draft } from '../model/document.js';
import { isKeybox, isPgpKeyring } from '../openpgp/keyring.js';
import { isBcfks } from './bcfks-store.js';
import { isBks } from '../../formats/java/bks.js';
import { CredentialReading, derivationsUsedUp } from './credential-reading.js';
import { isJavaKeyStore } from '../../formats/java/key-store.js';
import { DerivationBudget } from '../../formats/pkcs/password-encryption.js';
import { readDerInto, readKeyboxInto, readKeyringInto, readTextInto } from './key-file-reading.js';
import { readBcfksInto, readBksInto, readJavaStoreInto, readPkcs12Into } from './key-store-reading.js';
import { isPkcs12 } from '../../formats/pkcs/pkcs12.js';

export interface CredentialOptions {
  /** The place where it was found, which is also its source: a file on a host. */
  readonly source: string | undefined;
  /** Opens a key store, or encrypted private keys. */
  readonly password: string | undefined;
  /** Rounds of key derivation that reading may cost; that of one document when absent. */
  readonly derivations?: DerivationBudget;
}

/**
 * Reads certificates and keys: PEM, DER, PKCS #7, PKCS #8, PKCS #12, JKS, JCEKS, BCFKS, BKS, OpenPGP keyrings, PuTTY key files, and SSH keys as
 * authorized_keys, known_hosts and .pub files have them, each recognized by its content. Of a private key only the public half is kept, of a secret
 * key only algorithm and length.
 *
 * @throws Problem 422 `document.format` when there is nothing of that, `key-store.password`, `key-store.cipher`.
 */
export function readCredentialFile(body: Buffer, options: CredentialOptions): Draft {
  const { source, password = '', derivations = new DerivationBudget() } = options;
  const file = unwrapped(body);
  if (isMangled(file)) throw damaged(MANGLED);
  const bytes = withDefiniteLengths(file);
  const reading = new CredentialReading(source, derivations);
  try {
    readInto(reading, bytes, password);
    // Without the rounds it would be read without its secrets: another result than at another time.
    if (derivations.isShort) throw derivationsUsedUp();
    const draft = reading.draft();
    return draft.received === draft.rejected.length ? orDamaged(file, draft) : draft;
  } catch (error) {
    if (derivations.isShort) throw derivationsUsedUp();
    if (error instanceof Problem && error.code === 'document.format') throw orDamaged(file, error);
    throw error;
  }
}

/** What came of a file of which nothing could be read. @throws Problem that says what happened to it, where that can be seen. */
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

/** Longer than any file of keys and certificates that somebody would hold as Base64. */
const MAX_WRAPPED_BYTES = 16 * 1024 * 1024;

/** The file that the whole body is the Base64 of, as secrets of Kubernetes and certificates of Windows and SAML are written; else the body. */
function unwrapped(body: Buffer): Buffer {
  if (body.length > MAX_WRAPPED_BYTES || !/^[A-Za-z0-9+/=\s]{32,}$/.test(body.toString('latin1', 0, 64))) return body;
  const inner = fromBrokenBase64(body.toString('latin1'));
  return inner !== undefined && isKnownFile(inner) ? inner : body;
}

function isKnownFile(bytes: Buffer): boolean {
  if (isJavaKeyStore(bytes) || isBks(bytes) || isKeybox(bytes)) return true;
  return bytes[0] === 0x30 || bytes.toString('latin1', 0, 11) === '-----BEGIN ';
}

/** U+FFFD in UTF-8: what a program leaves of octets that it took for text. */
const REPLACEMENT = Buffer.from('\uFFFD');
const MANGLED =
  'was binary and went through a program that treated it as text (Maven resource filtering, a terminal, FTP in text mode), which replaced its octets: use the original';

/** Whether octets that are no text were replaced by U+FFFD. Binary files do not have four of them by chance. */
function isMangled(bytes: Buffer): boolean {
  let count = 0;
  for (let at = bytes.indexOf(REPLACEMENT); at !== -1 && count < 4; at = bytes.indexOf(REPLACEMENT, at + 3)) count += 1;
  return count === 4 && bytes.subarray(0, 1024).some((octet) => octet < 0x09);
}

/** What happened to a file that began as one that is read here; undefined when it is none. */
function damageOf(bytes: Buffer): string | undefined {
  if (isJavaKeyStore(bytes))
    return 'begins as a Java key store, and ends too early or was changed (FTP in text mode, git with autocrlf): use the original';
  if (bytes.lastIndexOf('-----BEGIN ') > bytes.lastIndexOf('-----END '))
    return 'begins as PEM, and ends before its END line: use the original';
  const length = bytes[0] === 0x30 ? lengthStated(bytes) : undefined;
  if (length === undefined || length <= bytes.length) return undefined;
  return `begins as DER, a key store or a certificate, and ends too early: it announces ${length} octets, and has ${bytes.length}`;
}

/** Of an element of less than 128 octets. */
const SHORT_HEADER_BYTES = 2;

/** Octets of a DER element with its head; undefined where it is shorter than any key, as a text may seem to be, or of no stated length. */
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
