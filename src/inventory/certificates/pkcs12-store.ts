import { ContentInfo } from '@peculiar/asn1-cms';
import { AuthenticatedSafe, CertBag, PFX, SafeBag, SafeContents } from '@peculiar/asn1-pfx';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { Problem } from '../../platform/errors/problem.js';
import { type DerivationBudget, passwordEncryption } from './password-encryption.js';
import { leadingVersion, withDefiniteLengths } from '../../formats/asn1/ber-reader.js';
import { type DerElement, derElements, dotted } from '../../formats/asn1/der-reader.js';
import { secretKeyOf, type SecretKeyFacts } from './sealed-secret-key.js';

const DATA = '1.2.840.113549.1.7.1';
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const KEY_BAG = '1.2.840.113549.1.12.10.1.1';
const SHROUDED_KEY_BAG = '1.2.840.113549.1.12.10.1.2';
const CERT_BAG = '1.2.840.113549.1.12.10.1.3';
const SECRET_BAG = '1.2.840.113549.1.12.10.1.5';
const SAFE_CONTENTS_BAG = '1.2.840.113549.1.12.10.1.6';
/** Bags within bags. */
const MAX_DEPTH = 8;
const FRIENDLY_NAME = '1.2.840.113549.1.9.20';
const LOCAL_KEY_ID = '1.2.840.113549.1.9.21';

export interface Pkcs12Key {
  readonly name: string | undefined;
  /** Ties the key to its certificate; undefined when the store does not say. */
  readonly keyId: string | undefined;
  /** The scheme that protects it; undefined for a key in the clear. */
  readonly securedBy: string | undefined;
  /** PKCS #8, in the clear or encrypted. */
  readonly der: Buffer;
}

/** A secret that lies in a store. */
export interface Pkcs12Secret {
  readonly name: string | undefined;
  readonly securedBy: string;
  /** Undefined for what the password does not open, and for a form that its maker alone knows. */
  readonly facts: SecretKeyFacts | undefined;
}

/** What opens the parts of a store. */
interface Opening {
  readonly password: string;
  readonly budget: DerivationBudget;
}

export interface Pkcs12Store {
  readonly certificates: { readonly der: Buffer; readonly keyId: string | undefined }[];
  readonly keys: Pkcs12Key[];
  readonly secrets: Pkcs12Secret[];
}

/** True for `SEQUENCE { INTEGER 3, … }`, which a certificate never is. */
export function isPkcs12Store(bytes: Buffer): boolean {
  return leadingVersion(bytes) === 3;
}

/**
 * Reads a PKCS #12 store (RFC 7292). Private keys are counted and named, not decrypted; of a secret key only algorithm and length are kept.
 *
 * @throws Problem 422 `key-store.password`, `key-store.cipher` or `document.too-costly`.
 */
export function readPkcs12(bytes: Buffer, password: string, budget: DerivationBudget): Pkcs12Store {
  const store: Pkcs12Store = { certificates: [], keys: [], secrets: [] };
  const { authSafe } = AsnConvert.parse(bytes, PFX);
  for (const part of AsnConvert.parse(octets(authSafe), AuthenticatedSafe))
    for (const bag of AsnConvert.parse(contentsOf(part, password, budget), SafeContents))
      take(bag, store, { password, budget });
  return store;
}

function octets({ content }: ContentInfo): Buffer {
  const { buffer } = AsnConvert.parse(content, OctetString);
  return withDefiniteLengths(Buffer.from(buffer));
}

function contentsOf(part: ContentInfo, password: string, budget: DerivationBudget): Buffer {
  if (part.contentType === DATA) return octets(part);
  if (part.contentType !== ENCRYPTED_DATA) throw unreadable('is encrypted for a recipient');
  const [data] = derElements(Buffer.from(part.content));
  const [, info] = derElements(data?.contents ?? Buffer.alloc(0));
  const [, algorithm, content] = derElements(info?.contents ?? Buffer.alloc(0));
  const { name, decrypt } = passwordEncryption(algorithm?.raw ?? Buffer.alloc(0));
  if (decrypt === undefined || content === undefined) throw unreadable(`uses ${name}`);
  // In pieces (BER), or as one.
  const encrypted =
    content.tag === 0xa0
      ? Buffer.concat(derElements(content.contents).map((piece) => piece.contents))
      : content.contents;
  return opened((candidate) => decrypt(encrypted, candidate, budget), password);
}

/** Without a password both the empty one and none are tried. @throws Problem `key-store.password`, `document.too-costly`. */
function opened(decrypt: (password: string | null) => Buffer, password: string): Buffer {
  for (const candidate of password === '' ? ['', null] : [password])
    try {
      const clear = withDefiniteLengths(decrypt(candidate));
      AsnConvert.parse(clear, SafeContents);
      return clear;
    } catch (error) {
      // Another password, unless it costs too much.
      if (error instanceof Problem) throw error;
    }
  const detail = password === '' ? 'needs a password (X-Key-Store-Password)' : 'is not opened by this password';
  throw new Problem('refused', 'key-store.password', `The key store ${detail}.`);
}

function unreadable(detail: string): Problem {
  return new Problem('refused', 'key-store.cipher', `The certificates of the key store cannot be read: it ${detail}.`);
}

function take(bag: SafeBag, store: Pkcs12Store, opening: Opening, depth = 0): void {
  if (bag.bagId === SAFE_CONTENTS_BAG && depth < MAX_DEPTH)
    for (const inner of AsnConvert.parse(bag.bagValue, SafeContents)) take(inner, store, opening, depth + 1);
  const keyId = attribute(bag, LOCAL_KEY_ID)?.toString('hex');
  const name = attribute(bag, FRIENDLY_NAME)?.swap16().toString('utf16le');
  if (bag.bagId === CERT_BAG) {
    const { certValue } = AsnConvert.parse(bag.bagValue, CertBag);
    store.certificates.push({ der: Buffer.from(AsnConvert.parse(certValue, OctetString).buffer), keyId });
  }
  const value = Buffer.from(bag.bagValue);
  if (bag.bagId === KEY_BAG) store.keys.push({ name, keyId, securedBy: undefined, der: value });
  if (bag.bagId === SECRET_BAG) store.secrets.push({ name, ...secretIn(value, opening) });
  if (bag.bagId === SHROUDED_KEY_BAG) store.keys.push({ name, keyId, securedBy: shroud(value), der: value });
}

/** A SecretBag: a type, and the secret, which keytool shrouds like a private key. */
function secretIn(bag: Buffer, opening: Opening): Omit<Pkcs12Secret, 'name'> {
  try {
    const [, value] = derElements(derElements(bag)[0]?.contents ?? Buffer.alloc(0));
    const [secret] = derElements(value?.contents ?? Buffer.alloc(0));
    const shrouded = secret?.contents ?? Buffer.alloc(0);
    return { securedBy: shroud(shrouded), facts: secretFacts(shrouded, opening) };
  } catch {
    return { securedBy: 'PKCS #12', facts: undefined };
  }
}

/** The algorithm and the length of a key that PKCS #8 holds under a password; undefined when it stays closed. */
function secretFacts(shrouded: Buffer, { password, budget }: Opening): SecretKeyFacts | undefined {
  const [algorithm, content] = membersOf(shrouded);
  const { decrypt } = passwordEncryption(algorithm?.raw ?? Buffer.alloc(0));
  if (password === '' || decrypt === undefined || content === undefined) return undefined;
  let clear: Buffer | undefined;
  try {
    clear = decrypt(content.contents, password, budget);
    const [, identifier, key] = membersOf(clear);
    const [id] = membersOf(identifier?.raw ?? Buffer.alloc(0));
    return id === undefined || key === undefined ? undefined : secretKeyOf(dotted(id.contents), key.contents.length);
  } catch {
    return undefined;
  } finally {
    clear?.fill(0);
  }
}

/** What the one element holds that the bytes are. */
function membersOf(bytes: Buffer): DerElement[] {
  return derElements(derElements(bytes)[0]?.contents ?? Buffer.alloc(0));
}

function shroud(bag: Buffer): string {
  const [algorithm] = membersOf(bag);
  return passwordEncryption(algorithm?.raw ?? Buffer.alloc(0)).name;
}

/** The contents of the first value of an attribute, copied. */
function attribute({ bagAttributes }: SafeBag, id: string): Buffer | undefined {
  const value = bagAttributes?.find(({ attrId }) => attrId === id)?.attrValues[0];
  const [element] = value === undefined ? [] : derElements(Buffer.from(value));
  return element === undefined ? undefined : Buffer.from(element.contents);
}
