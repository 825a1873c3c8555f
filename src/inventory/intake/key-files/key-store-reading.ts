import { Problem } from '../../../platform/errors/problem.js';
import type { DraftOccurrence } from '../../model/document.js';
import { type KeyStoreEntry, readBcfks } from './bcfks-store.js';
import { type BksEntry, readBks, WrongPassword } from '../../../formats/java/bks.js';
import { type X509CertificateContent, sha256 } from './x509-certificate.js';
import { clean, closedByPassword, type CredentialReading, tooManyRounds } from './credential-reading.js';
import { isPasswordOf, readJavaKeyStore } from '../../../formats/java/key-store.js';
import { type DerivationBudget, DerivationTooCostly } from '../../../formats/pkcs/password-encryption.js';
import { type Pkcs12Store, readPkcs12 } from '../../../formats/pkcs/pkcs12.js';
import { nameByOid } from '../../judgement/vocabularies/object-identifiers.js';
import { readDerPrivateKey } from './private-key-facts.js';
import { namedSecretKey, secretKeyFacts, type SecretKeyFacts, secretKeyOf, sealName } from './sealed-secret-key.js';
import { truncate } from '../../../platform/text/truncate.js';

const MAX_NAME = 500;

/**
 * readJavaStoreInto reads JKS and JCEKS. Certificates can be read without a password; the algorithms of secret keys require the password.
 *
 * @throws Problem `key-store.password`
 */
export function readJavaStoreInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  const { type, entries, unread, end } = reading.whole(() => readJavaKeyStore(bytes));
  if (password !== '' && !isPasswordOf(bytes, end, password)) throw closedByPassword(password);
  reading.format = type;
  const secrets = new SecretKeys(reading, bytes);
  for (const { alias, kind, certificates, sealed = null } of entries) {
    const at = reading.place(null, alias);
    if (kind === 'secret-key') {
      const facts = password === '' ? undefined : secretKeyFacts(sealed, password, reading.budget);
      secrets.add(alias, facts, sealName(sealed), at);
      continue;
    }
    const [own] = certificates.map((der) => reading.certificate(der, at));
    if (kind === 'private-key' && own !== undefined) reading.storedKey(alias, own, type, at);
  }
  secrets.note();
  if (unread > 0)
    reading.warn('key-store.unread', `${unread} entries starting with the first damaged one were not read`);
}

/** readBcfksInto reads BCFKS, which usually cannot be read without the password. @throws Problem `key-store.password` or `key-store.cipher` */
export function readBcfksInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  reading.format = 'BCFKS';
  entriesInto(
    reading,
    bytes,
    reading.whole(() => readBcfks(bytes, password, reading.budget)),
  );
}

/**
 * readBksInto reads BKS. Certificates can be read without a password; the algorithms of secret keys require the password.
 *
 * @throws Problem `key-store.password` or `key-store.cipher`
 */
export function readBksInto(reading: CredentialReading, bytes: Buffer, password: string): void {
  reading.format = 'BKS';
  const entries = openBks(bytes, password, reading.budget).map(({ secret, ...entry }): KeyStoreEntry => ({
    ...entry,
    secret: secret && namedSecretKey(secret.algorithm, secret.octets),
  }));
  entriesInto(reading, bytes, entries);
}

function openBks(bytes: Buffer, password: string, budget: DerivationBudget): BksEntry[] {
  try {
    return readBks(bytes, password, budget);
  } catch (error) {
    if (error instanceof WrongPassword) throw closedByPassword(password);
    if (error instanceof DerivationTooCostly) throw tooManyRounds();
    const detail =
      'is damaged or of type UBER, which is not supported; convert it with keytool -importkeystore -deststoretype PKCS12';
    throw new Problem('refused', 'key-store.cipher', `The key store ${detail}.`);
  }
}

function entriesInto(reading: CredentialReading, bytes: Buffer, entries: readonly KeyStoreEntry[]): void {
  const secrets = new SecretKeys(reading, bytes);
  if (entries.length === 0) reading.passOver('key-store.empty', 'the key store is empty');
  for (const { alias, kind, certificates, securedBy, secret } of entries) {
    const at = reading.place(null, alias);
    if (kind === 'secret-key') {
      secrets.add(alias, secret, securedBy, at);
      continue;
    }
    const [own] = certificates.map((der) => reading.certificate(der, at));
    if (kind === 'private-key' && own !== undefined) reading.storedKey(alias, own, securedBy, at);
  }
  secrets.note();
}

/**
 * readPkcs12Into reads PKCS #12: certificates, which usually require the password, and keys with the name of the scheme that protects them.
 *
 * @throws Problem `key-store.password` or `key-store.cipher`
 */
export function readPkcs12Into(reading: CredentialReading, bytes: Buffer, password: string): void {
  reading.format = 'PKCS #12';
  const { certificates, keys, secrets: found } = reading.whole(() => openPkcs12(bytes, password, reading.budget));
  const byKeyId = new Map<string | undefined, X509CertificateContent | undefined>();
  for (const { der, keyId } of certificates) {
    const read = reading.certificate(der, reading.place(null, null));
    if (keyId !== undefined) byKeyId.set(keyId, read);
  }
  for (const { name, keyId, securedBy, der } of keys) {
    const own = byKeyId.get(keyId);
    const at = reading.place(null, name ?? null);
    if (own === undefined) lonelyKey(reading, { name, der, password, at });
    else reading.storedKey(name ?? '', own, securedBy, at);
  }
  const secrets = new SecretKeys(reading, bytes);
  for (const [index, { name, securedBy, key }] of found.entries()) {
    const facts = key && secretKeyOf(key.oid, key.octets);
    secrets.add(name ?? `secret ${index + 1}`, facts, securedBy, reading.place(null, name ?? null));
  }
  secrets.note();
}

/**
 * openPkcs12 reads all parts of a PKCS #12 store. Without a password, it tries both an empty password and no password.
 *
 * @throws Problem 422 `key-store.password`, `key-store.cipher` or `document.too-costly`. RangeError if the store is damaged
 */
export function openPkcs12(bytes: Buffer, password: string, budget: DerivationBudget): Pkcs12Store {
  const store = readPkcs12(bytes, { passwords: password === '' ? ['', null] : [password], budget, nameByOid });
  const [closed] = store.closed;
  if (closed === undefined) return store;
  if (closed.reason === 'cost') throw tooManyRounds();
  if (closed.reason === 'password') throw closedByPassword(password);
  const detail = closed.reason === 'recipient' ? 'is encrypted for a recipient' : `uses ${closed.scheme}`;
  throw new Problem(
    'refused',
    'key-store.cipher',
    `The certificates in the key store cannot be read, because the key store ${detail}.`,
  );
}

interface LonelyKey {
  readonly name: string | undefined;
  readonly der: Buffer;
  readonly password: string;
  readonly at: DraftOccurrence[];
}

/** Adds a private key without a certificate. The key must be decrypted to be identified. */
function lonelyKey(reading: CredentialReading, { name, der, password, at }: LonelyKey): void {
  reading.item(() => {
    const key = readDerPrivateKey(der, password, reading.budget);
    const title = truncate(clean(name ?? ''), MAX_NAME) || key.name;
    reading.found.privateKey({ ...key, name: title }, at);
  }, 'contains a private key that does not contain its public key');
}

/** SecretKeys adds the secret keys in one key store. A key is identified by key store and alias, because the hash of a short key would reveal the key. */
class SecretKeys {
  private readonly store: string;
  private closed = 0;

  constructor(
    private readonly reading: CredentialReading,
    bytes: Buffer,
  ) {
    this.store = reading.source ?? sha256(bytes);
  }

  add(alias: string, facts: SecretKeyFacts | undefined, securedBy: string | undefined, at: DraftOccurrence[]): void {
    if (facts === undefined) this.closed += 1;
    const name = truncate(clean(alias) || 'secret key', MAX_NAME);
    const id = sha256(Buffer.from(JSON.stringify([this.store, alias])));
    const { algorithm, bits } = facts ?? {};
    this.reading.item(
      () => this.reading.found.secretKey({ name, id, algorithm, bits, securedBy }, at),
      'is not a secret key',
    );
  }

  note(): void {
    if (this.closed > 0)
      this.reading.warn(
        'key-store.secret-keys',
        `the algorithms of ${this.closed} secret keys are unknown: the store requires its password (X-Key-Store-Password), the keys have a different password, or their protection is not supported`,
      );
  }
}
