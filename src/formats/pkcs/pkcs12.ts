import { leadingVersion, withDefiniteLengths } from '../asn1/ber-reader.js';
import { DER, type DerElement, derElements, dotted, elementsInside, firstElement } from '../asn1/der-reader.js';
import {
  type DerivationBudget,
  DerivationTooCostly,
  type NameByOid,
  passwordEncryption,
} from './password-encryption.js';

const DATA = '1.2.840.113549.1.7.1';
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const KEY_BAG = '1.2.840.113549.1.12.10.1.1';
const SHROUDED_KEY_BAG = '1.2.840.113549.1.12.10.1.2';
const CERT_BAG = '1.2.840.113549.1.12.10.1.3';
const SECRET_BAG = '1.2.840.113549.1.12.10.1.5';
const SAFE_CONTENTS_BAG = '1.2.840.113549.1.12.10.1.6';
const FRIENDLY_NAME = '1.2.840.113549.1.9.20';
const LOCAL_KEY_ID = '1.2.840.113549.1.9.21';
/** RFC 9579. */
const PBMAC1 = '1.2.840.113549.1.5.14';
/** MAC names, by the object identifier of the digest (RFC 7292 MACs) or of the HMAC (PBMAC1). */
const MACS: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'HMAC-SHA-1',
  '2.16.840.1.101.3.4.2.1': 'HMAC-SHA-256',
  '2.16.840.1.101.3.4.2.2': 'HMAC-SHA-384',
  '2.16.840.1.101.3.4.2.3': 'HMAC-SHA-512',
  '1.2.840.113549.2.7': 'HMAC-SHA-1',
  '1.2.840.113549.2.9': 'HMAC-SHA-256',
  '1.2.840.113549.2.10': 'HMAC-SHA-384',
  '1.2.840.113549.2.11': 'HMAC-SHA-512',
};
/** Tags of a segmented OCTET STRING: constructed, or with the implicit tag [0]. */
const IN_PIECES: ReadonlySet<number> = new Set([0x24, 0xa0]);
/** Maximum nesting of bags. */
const MAX_DEPTH = 8;

/** Attributes of an item in a store. */
interface Named {
  readonly name: string | undefined;
  /** Hexadecimal. Links a key to its certificate. Undefined if the item has no localKeyId. */
  readonly keyId: string | undefined;
}

export interface Pkcs12Certificate extends Named {
  readonly der: Buffer;
}

export interface Pkcs12Key extends Named {
  /** Scheme that protects the key. Undefined for an unencrypted key. */
  readonly securedBy: string | undefined;
  /** PKCS #8, unencrypted or encrypted. */
  readonly der: Buffer;
}

/** Pkcs12Secret is a secret key in a store. */
export interface Pkcs12Secret extends Named {
  readonly securedBy: string;
  /** Algorithm and length of the key. Undefined if no password decrypts the key, or if its format is proprietary. */
  readonly key: { readonly oid: string; readonly octets: number } | undefined;
}

/**
 * ClosedPart is a part that could not be read: no password decrypts it, its cipher is not supported, it is encrypted for a recipient's key, or its key
 * derivation requires too many rounds.
 */
export interface ClosedPart {
  readonly reason: 'password' | 'cipher' | 'recipient' | 'cost';
  readonly scheme: string;
}

export interface Pkcs12Store {
  readonly certificates: Pkcs12Certificate[];
  readonly keys: Pkcs12Key[];
  readonly secrets: Pkcs12Secret[];
  /** Names of the encryption schemes of the parts, one per part. */
  readonly schemes: string[];
  readonly closed: ClosedPart[];
  /** Name of the MAC. Undefined if the store has no MAC. */
  readonly mac: string | undefined;
}

export interface Pkcs12Options {
  /** Each part is decrypted with the first matching password. PKCS #12 distinguishes no password (null) from an empty password. */
  readonly passwords: readonly (string | null)[];
  readonly budget: DerivationBudget;
  readonly nameByOid: NameByOid;
}

/** Reports whether the bytes start like `SEQUENCE { INTEGER 3, … }`, which no certificate does. */
export function isPkcs12(bytes: Buffer): boolean {
  return leadingVersion(bytes) === 3;
}

/**
 * Reads a PKCS #12 store (RFC 7292) in DER or BER. Private keys are counted and named, but not decrypted. For a secret key, only the algorithm and length are
 * returned.
 *
 * @throws RangeError if the bytes are not a store or are damaged
 */
export function readPkcs12(bytes: Buffer, options: Pkcs12Options): Pkcs12Store {
  const [, authSafe, macData] = elementsIn(withDefiniteLengths(bytes));
  const store = { certificates: [], keys: [], secrets: [], schemes: [], closed: [], mac: macOf(macData) };
  for (const part of elementsIn(dataOf(authSafe)))
    for (const bag of bagsOf(part, store, options)) take(bag, store, options);
  return store;
}

/** Returns the octets of a ContentInfo of type `data`. */
function dataOf(contentInfo: DerElement | undefined): Buffer {
  const [, content] = elementsInside(contentInfo);
  return withDefiniteLengths(octets(elementsInside(content)[0]));
}

/** Returns the bags in a part. Empty if the part cannot be decrypted. */
function bagsOf(part: DerElement, store: Pkcs12Store, options: Pkcs12Options): DerElement[] {
  const type = oidOf(elementsInside(part)[0]);
  if (type === DATA) return elementsIn(dataOf(part));
  if (type !== ENCRYPTED_DATA) {
    store.closed.push({ reason: 'recipient', scheme: type });
    return [];
  }
  const [, info] = elementsInside(elementsInside(elementsInside(part)[1])[0]);
  const [, algorithm, content] = elementsInside(info);
  const encryption = passwordEncryption(there(algorithm).raw, options.nameByOid);
  const { name: scheme, decrypt, takesNoPassword = false } = encryption;
  store.schemes.push(scheme);
  const passwords = takesNoPassword ? options.passwords : options.passwords.filter((one) => one !== null);
  const opened = decrypt === undefined ? 'cipher' : openedBags(octets(content), decrypt, { ...options, passwords });
  if (typeof opened !== 'string') return opened;
  store.closed.push({ reason: opened, scheme });
  return [];
}

type Decrypt = NonNullable<ReturnType<typeof passwordEncryption>['decrypt']>;

function openedBags(
  sealed: Buffer,
  decrypt: Decrypt,
  { passwords, budget }: Pkcs12Options,
): DerElement[] | 'password' | 'cost' {
  for (const password of passwords)
    try {
      const bags = elementsIn(withDefiniteLengths(decrypt(sealed, password, budget)));
      if (bags.every((bag) => elementsInside(bag)[0]?.tag === DER.oid)) return bags;
    } catch (error) {
      // Try the next password, unless the derivation is too costly.
      if (error instanceof DerivationTooCostly) return 'cost';
    }
  return 'password';
}

function take(bag: DerElement, store: Pkcs12Store, options: Pkcs12Options, depth = 0): void {
  const [id, wrapped, attributes] = elementsInside(bag);
  const [value] = elementsInside(wrapped);
  if (value === undefined) throw new RangeError('a bag has no value');
  const type = oidOf(id);
  if (type === SAFE_CONTENTS_BAG && depth < MAX_DEPTH)
    for (const inner of elementsInside(value)) take(inner, store, options, depth + 1);
  const named = { name: friendlyName(attributes), keyId: attribute(attributes, LOCAL_KEY_ID)?.toString('hex') };
  const { raw: der } = value;
  if (type === CERT_BAG)
    store.certificates.push({ ...named, der: octets(elementsInside(elementsInside(value)[1])[0]) });
  if (type === KEY_BAG) store.keys.push({ ...named, securedBy: undefined, der });
  if (type === SHROUDED_KEY_BAG) store.keys.push({ ...named, securedBy: shroud(der, options.nameByOid), der });
  if (type === SECRET_BAG) store.secrets.push({ ...named, ...secretIn(value, options) });
}

/** Reads a SecretBag, which contains a type and a secret. keytool encrypts the secret like a private key. */
function secretIn(bag: DerElement, options: Pkcs12Options): Pick<Pkcs12Secret, 'securedBy' | 'key'> {
  try {
    const shrouded = octets(elementsInside(elementsInside(bag)[1])[0]);
    return { securedBy: shroud(shrouded, options.nameByOid), key: secretKey(shrouded, options) };
  } catch {
    return { securedBy: 'PKCS #12', key: undefined };
  }
}

/** Returns the key in an encrypted PKCS #8. Undefined if the key cannot be decrypted. */
function secretKey(shrouded: Buffer, { passwords, budget, nameByOid }: Pkcs12Options): Pkcs12Secret['key'] {
  const [algorithm, content] = elementsIn(shrouded);
  const { decrypt } = passwordEncryption(there(algorithm).raw, nameByOid);
  if (decrypt === undefined) return undefined;
  for (const password of passwords.filter((one) => one !== null && one !== '')) {
    let clear: Buffer | undefined;
    try {
      clear = decrypt(octets(content), password, budget);
      const [, identifier, key] = elementsIn(clear);
      return { oid: oidOf(elementsInside(identifier)[0]), octets: there(key).contents.length };
    } catch {
      // The password is wrong or the derivation is too costly: try the next password.
    } finally {
      clear?.fill(0);
    }
  }
  return undefined;
}

function shroud(encryptedKey: Buffer, nameByOid: NameByOid): string {
  return passwordEncryption(there(elementsIn(encryptedKey)[0]).raw, nameByOid).name;
}

function macOf(macData: DerElement | undefined): string | undefined {
  const [mac] = elementsInside(macData);
  if (mac === undefined) return undefined;
  const [id, parameters] = elementsInside(elementsInside(mac)[0]);
  const oid = oidOf(id);
  const [, hmac] = oid === PBMAC1 ? elementsInside(parameters) : [];
  const name = hmac === undefined ? oid : oidOf(elementsInside(hmac)[0]);
  return MACS[name] ?? `HMAC-${name}`;
}

/** Returns the friendlyName, a BMPString (big-endian UTF-16). */
function friendlyName(attributes: DerElement | undefined): string | undefined {
  const name = attribute(attributes, FRIENDLY_NAME);
  return name
    ?.subarray(0, name.length & ~1)
    .swap16()
    .toString('utf16le');
}

/** Returns a copy of an attribute's first value, without tag and length. */
function attribute(attributes: DerElement | undefined, id: string): Buffer | undefined {
  const found = elementsInside(attributes).find((one) => oidOf(elementsInside(one)[0]) === id);
  const [value] = found === undefined ? [] : elementsInside(elementsInside(found)[1]);
  return value && Buffer.from(value.contents);
}

/** Returns the elements of the SEQUENCE at the start of the bytes. Some programs write further data after a store. */
function elementsIn(bytes: Buffer): DerElement[] {
  const sequence = firstElement(bytes);
  if (sequence.tag !== DER.sequence) throw new RangeError('not a DER SEQUENCE');
  return derElements(sequence.contents);
}

function octets(element: DerElement | undefined): Buffer {
  const { tag, contents } = there(element);
  return IN_PIECES.has(tag) ? Buffer.concat(derElements(contents).map(octets)) : contents;
}

function oidOf(element: DerElement | undefined): string {
  if (element?.tag !== DER.oid) throw new RangeError('not an object identifier');
  return dotted(element.contents);
}

function there(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new RangeError('the key store is incomplete');
  return element;
}
