import { isUtf8 } from 'node:buffer';
import { createPublicKey } from 'node:crypto';
import type { DraftOccurrence } from '../../model/document.js';
import { dearmored } from '../../../formats/openpgp/armor.js';
import { readKeybox, type PgpKey, readPgpKeyring } from './keyring.js';
import { withDefiniteLengths } from '../../../formats/asn1/ber-reader.js';
import { clean, type CredentialReading } from './credential-reading.js';
import { DER, type DerElement, derElements, dotted } from '../../../formats/asn1/der-reader.js';
import { rfc3339, type FoundPrivateKey } from './credential-components.js';
import { bytesOf, type PemBlock, pemBlocks } from '../../../formats/encoding/pem-blocks.js';
import { describePublicKey, describeSpki, readDerPrivateKey, readPrivateKeyFacts } from './private-key-facts.js';
import { readSshPublicKey, sshKeyLine } from './ssh-public-key.js';
import { notRead, scannerOf } from '../../model/scanner-results.js';
import { truncate } from '../../../platform/text/truncate.js';
import { fromBrokenBase64 } from '../../../formats/encoding/base64.js';

const NO_KEY = 'is a private key that does not contain its public key';
/** Labels of blocks that often accompany certificates and keys. */
const BESIDE = /^(?:(?:EC|DSA|DH|X9\.42 DH) PARAMETERS|X509 CRL|(?:NEW )?CERTIFICATE REQUEST)$/;
/** Label of a cleartext signed message. The message ends where the signature begins (RFC 9580 section 7). */
const SIGNED_TEXT = 'PGP SIGNED MESSAGE';
const MAX_NAME = 500;

/** readDerInto reads one or more DER structures: certificates, PKCS #7, private and public keys. */
export function readDerInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  reading.format = 'DER';
  for (const raw of structures(bytes)) {
    const at = reading.place(null, null);
    const signed = signedCertificates(raw);
    const [first, second, ...more] = inside(quietly(raw)[0]);
    if (signed !== undefined) for (const der of signed) reading.certificate(der, at);
    else if (first?.tag === DER.integer || (second?.tag === DER.octetString && more.length === 0))
      reading.item(() => reading.found.privateKey(readDerPrivateKey(raw, password, reading.budget), at), NO_KEY);
    else if (second?.tag === DER.bitString && more.length === 0)
      reading.item(() => publicKey(reading, 'PUBLIC KEY', raw, '', at), 'is not a public key');
    else if (isBeside(inside(first)))
      requestOrCrl(reading, raw, at, () =>
        reading.passOver('der.passed-over', 'certificate requests and CRLs are not listed'),
      );
    else reading.certificate(raw, at);
  }
}

/**
 * Reports whether the signed content belongs to a certification request (RFC 2986: INTEGER, name, public key) or a CRL (RFC 5280 section 5.1: optional
 * INTEGER, algorithm, name, time). A certificate has a name or an algorithm in place of the public key or the time.
 */
function isBeside(signed: readonly DerElement[]): boolean {
  const [first, second, third, fourth] = signed;
  if (first?.tag !== DER.integer) return isTime(third);
  return isTime(fourth) || (second?.tag === DER.sequence && inside(third)[1]?.tag === DER.bitString);
}

const isTime = (element: DerElement | undefined) =>
  element?.tag === DER.utcTime || element?.tag === DER.generalizedTime;

/** readTextInto reads text: a PuTTY key file, PEM blocks with any text between the blocks, or lines with SSH keys. */
export function readTextInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  const text = decoded(bytes);
  if (isPuttyKey(text)) {
    reading.format = 'PuTTY';
    reading.item(() => reading.found.privateKey(readPuttyKeyFacts(text), reading.place(1, null)), NO_KEY);
    return;
  }
  const blocks = pemBlocks(text);
  reading.format = blocks.length > 0 ? 'PEM' : 'SSH keys';
  if (blocks.length > 0 && blocks.every(({ label }) => label.startsWith('PGP '))) reading.format = 'OpenPGP';
  for (const block of blocks) readBlock(reading, block, password);
  warnOfRest(reading, text, blocks);
  if (blocks.length > 0) return;
  text.split('\n').forEach((line, index) => {
    const key = sshKeyLine(line.trim());
    if (key === undefined) return;
    const at = reading.place(index + 1, null);
    const read = () => reading.found.publicKey(readSshPublicKey(key.blob, clean(key.comment)), at);
    reading.item(read, 'is not an SSH public key');
  });
}

/** Matches lines with which tools describe PEM blocks. Ignoring these lines loses no information. */
const ABOUT_BLOCKS =
  /^\s*(?:#.*|[=-]*|Bag Attributes.*|Key Attributes.*|(?:friendlyName|localKeyID|Microsoft CSP Name|subject|issuer|depth|verify|s|i|a|v)\s*[:=].*|\d+ s:.*)$/;

/**
 * Warns about the part of a text that was not read. The warning contains the name of the tool that wrote the text. For example, a scanner result that contains
 * one certificate consists mostly of other data.
 */
function warnOfRest(reading: CredentialReading, text: string, blocks: readonly PemBlock[]): void {
  if (blocks.some(({ isCut, label }) => isCut || label.startsWith('PGP '))) return;
  const rest = outsideOf(text).filter((line) => !ABOUT_BLOCKS.test(line));
  const bytes = rest.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  if (bytes === 0) return;
  const tool = scannerOf(text);
  const detail = `${bytes} bytes outside the PEM blocks were ignored`;
  reading.warn('pem.outside', tool === undefined ? detail : `${detail}: this is ${notRead(tool)}`);
}

/** Returns the lines before, between and after PEM blocks. */
function outsideOf(text: string): string[] {
  return text
    .split(/-----BEGIN [^\n]{1,60}?-----|---- BEGIN SSH2 [A-Z ]{1,40} ----/)
    .flatMap((part, index) => (index === 0 ? part : afterEnd(part)).split(/\r?\n|\\n/));
}

function afterEnd(part: string): string {
  const end = /-----END [^\n]{1,60}?-----|---- END SSH2 [A-Z ]{1,40} ----/.exec(part);
  return end === null ? '' : part.slice(end.index + end[0].length);
}

/** readKeyringInto reads a binary keyring, as written by `gpg --export`. */
export function readKeyringInto(reading: CredentialReading, bytes: Buffer, line: number | null = null): void {
  if (reading.format === '') reading.format = 'OpenPGP';
  const ring = reading.item(() => readPgpKeyring(bytes), 'contains no readable OpenPGP key');
  for (const key of ring?.keys ?? []) pgpKey(reading, key, line);
  if (ring !== undefined && ring.unread > 0)
    reading.warn('openpgp.unread', `${ring.unread} keys of the keyring have an unsupported version or are truncated`);
}

/** readKeyboxInto reads a GnuPG keybox (`pubring.kbx`), which contains keyrings and S/MIME certificates. */
export function readKeyboxInto(reading: CredentialReading, bytes: Buffer): void {
  reading.format = 'OpenPGP';
  const { keyrings, certificates } = reading.whole(() => readKeybox(bytes));
  if (keyrings.length + certificates.length === 0) reading.passOver('openpgp.empty', 'the keybox contains no key');
  for (const ring of keyrings) readKeyringInto(reading, ring);
  for (const der of certificates) reading.certificate(der, reading.place(null, null));
}

function pgpKey(reading: CredentialReading, key: PgpKey, line: number | null): void {
  const { fingerprint, keyId, userId, isSubkey, algorithm, created, expires, revoked, secret } = key;
  const owner = userId === undefined || userId === '' ? `OpenPGP key ${keyId}` : clean(userId);
  const name = truncate(isSubkey ? `${owner} (subkey ${keyId})` : owner, MAX_NAME);
  const lifetime = {
    creationDate: rfc3339(created),
    ...(expires === undefined ? {} : { expirationDate: rfc3339(expires) }),
    ...(revoked === undefined ? {} : { state: revoked }),
  };
  const at = reading.place(line, keyId);
  if (secret === undefined)
    reading.found.publicKey(
      { name, fingerprint: undefined, id: fingerprint, algorithm, format: 'OpenPGP', lifetime },
      at,
    );
  else reading.found.privateKey({ name, fingerprint, id: fingerprint, algorithm, lifetime, ...secret }, at);
}

function readBlock(reading: CredentialReading, block: PemBlock, password: string): void {
  const at = reading.place(block.line, null);
  const { label, text } = block;
  const bytes = bytesOf(block);
  if (block.isCut && label !== SIGNED_TEXT)
    reading.reject(
      `contains ${truncate(label, 60)} without an END line, starting at line ${block.line}: the block was truncated`,
    );
  else if (/^(?:X509 |TRUSTED )?CERTIFICATE$/.test(label)) reading.certificate(bytes, at);
  else if (/^(?:PKCS7|PKCS #7 SIGNED DATA|CMS)$/.test(label)) signedInto(reading, bytes, at);
  else if (/^PGP (?:PUBLIC|PRIVATE) KEY BLOCK$/.test(label)) readKeyringInto(reading, dearmored(text), block.line);
  else if (label.endsWith('PRIVATE KEY'))
    reading.item(() => reading.found.privateKey(readPrivateKeyFacts(block, password, reading.budget), at), NO_KEY);
  else if (label.endsWith('PUBLIC KEY'))
    reading.item(() => publicKey(reading, label, bytes, text, at), 'is not a public key');
  else if (BESIDE.test(label)) beside(reading, block, bytes, at);
  else reading.reject(`is a PEM block of an unsupported type: ${truncate(label, 60)}`);
}

/** Lists the key in a certificate request, with a warning that the request itself is not listed. Parameters and CRLs are skipped. */
function beside(reading: CredentialReading, { label, line }: PemBlock, bytes: Buffer, at: DraftOccurrence[]): void {
  const passOver = () => reading.passOver('pem.passed-over', `${label} on line ${line} is not listed`);
  if (label.endsWith('CERTIFICATE REQUEST')) requestOrCrl(reading, bytes, at, passOver);
  else passOver();
}

function requestOrCrl(reading: CredentialReading, der: Buffer, at: DraftOccurrence[], passOver: () => void): void {
  const [number, , spki] = inside(inside(quietly(der)[0])[0]);
  if (number?.tag !== DER.integer || inside(spki)[1]?.tag !== DER.bitString || spki === undefined) return passOver();
  reading.item(
    () => publicKey(reading, 'PUBLIC KEY', spki.raw, '', at),
    'is a certificate request whose key cannot be parsed',
  );
  reading.warn('request.key-listed', 'only the public key of a certificate request is listed');
}

function signedInto(reading: CredentialReading, bytes: Buffer, at: DraftOccurrence[]): void {
  const certificates = signedCertificates(withDefiniteLengths(bytes));
  if (certificates === undefined) reading.reject('is not PKCS #7 SignedData');
  else for (const der of certificates) reading.certificate(der, at);
}

function publicKey(
  reading: CredentialReading,
  label: string,
  bytes: Buffer,
  text: string,
  at: DraftOccurrence[],
): void {
  if (label === 'SSH2 PUBLIC KEY')
    return void reading.found.publicKey(readSshPublicKey(bytes, clean(commentIn(text))), at);
  const { algorithm, fingerprint } =
    label === 'RSA PUBLIC KEY'
      ? describePublicKey(createPublicKey({ key: bytes, format: 'der', type: 'pkcs1' }))
      : describeSpki(bytes);
  const name = `public key ${fingerprint.slice(0, 16)}`;
  reading.found.publicKey({ name, fingerprint, algorithm, format: 'X.509' }, at);
}

/** Returns the Comment header of an SSH public key file (RFC 4716 section 3.3.2): its first line without quotes. */
function commentIn(text: string): string {
  return /^Comment: "?([^"\r\n]{0,200})/im.exec(text)?.[1] ?? '';
}

/**
 * Decodes text, including the encodings of Windows tools: UTF-16, or UTF-8 with a byte order mark. Text that is not UTF-8 is decoded byte by byte.
 */
function decoded(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le', 2);
  if (bytes[0] === 0xfe && bytes[1] === 0xff && bytes.length % 2 === 0)
    return Buffer.from(bytes.subarray(2)).swap16().toString('utf16le');
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  return text.replace(/^(?:\uFEFF|\u00EF\u00BB\u00BF)/, '');
}

/** Returns the consecutive DER structures. If the bytes cannot be split, returns all bytes as one structure. */
function structures(bytes: Buffer): Buffer[] {
  const all = quietly(bytes);
  if (all.length > 0) return all.map(({ raw }) => raw);
  return [bytes];
}

function quietly(bytes: Buffer): DerElement[] {
  try {
    return derElements(bytes);
  } catch {
    return [];
  }
}

const SIGNED_DATA = '1.2.840.113549.1.7.2';
const IMPLICIT_CERTIFICATES = 0xa0;

/** Returns the certificates of a PKCS #7 or CMS SignedData (RFC 5652 section 5.1), byte for byte, or undefined for any other content. */
function signedCertificates(bytes: Buffer): Buffer[] | undefined {
  try {
    const [type, content] = inside(derElements(bytes)[0]);
    if (type === undefined || dotted(type.contents) !== SIGNED_DATA) return undefined;
    const [signedData] = inside(content);
    const certificates = inside(signedData).find(({ tag }) => tag === IMPLICIT_CERTIFICATES);
    return inside(certificates).map(({ raw }) => raw);
  } catch {
    return undefined;
  }
}

function inside(element: DerElement | undefined): DerElement[] {
  return element === undefined ? [] : quietly(element.contents);
}

const FIRST_LINE = /^PuTTY-User-Key-File-([123]): (\S{1,60})$/;
const MAX_LINES = 2000;

/** Reports whether the text is a PuTTY key file of any version. */
function isPuttyKey(text: string): boolean {
  return text.trimStart().startsWith('PuTTY-User-Key-File-');
}

/**
 * Identifies the key in a PuTTY key file by the public key, which is not encrypted. The private key is not read (PuTTY user manual, appendix C).
 *
 * @throws RangeError if the text is not a PuTTY key file
 */
function readPuttyKeyFacts(text: string): FoundPrivateKey {
  const lines = text.trimStart().split(/\r\n|\r|\n/, MAX_LINES);
  const [, version] = FIRST_LINE.exec((lines[0] ?? '').trimEnd()) ?? [];
  const after = (name: string) => {
    const at = lines.findIndex((line) => line.startsWith(`${name}: `));
    return { at, value: at < 0 ? '' : (lines[at] ?? '').slice(name.length + 2).trim() };
  };
  const { at, value } = after('Public-Lines');
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (version === undefined || count === 0) throw new RangeError('not a PuTTY key');
  const blob = fromBrokenBase64(lines.slice(at + 1, at + 1 + count).join(''));
  if (blob === undefined) throw new RangeError('not a PuTTY key');
  const key = readSshPublicKey(blob, truncate(after('Comment').value, 200));
  const { algorithm, fingerprint, sshFingerprint, name } = key;
  const encryption = after('Encryption').value;
  const derivation = version === '3' ? after('Key-Derivation').value || 'Argon2' : 'SHA-1';
  const securedBy = encryption === 'none' ? undefined : truncate(`PuTTY ${derivation} ${encryption}`, 100);
  return { name: `private key ${name}`, fingerprint: fingerprint ?? sshFingerprint ?? name, algorithm, securedBy };
}
