import { createHash, X509Certificate } from 'node:crypto';
import { bitStringOf, elementsOfSequence, unsignedOf } from '../../../formats/asn1/der-reader.js';
import { octetString } from '../../../formats/asn1/der-writer.js';
import type { AgentKey } from '../signer/agent-keys.js';
import { boolean, ulong } from './attributes.js';
import { CKA, CKC_X_509, CKK, CKO, CKR } from '../../../formats/pkcs/cryptoki.js';
import { mechanismsOf } from './mechanisms.js';
import { CryptokiFault, type RpcAttribute } from './rpc-message.js';

type Attributes = ReadonlyMap<number, Buffer>;

/** Object in the token. The handle of an object is its position in the list, starting at 1. */
interface TokenObject {
  readonly attributes: Attributes;
  /** Set only for private keys. */
  readonly key?: AgentKey;
}

/** Attributes of private keys whose values never leave the HSM. */
const SENSITIVE = new Set<number>([
  CKA.VALUE,
  CKA.PRIVATE_EXPONENT,
  CKA.PRIME_1,
  CKA.PRIME_2,
  CKA.EXPONENT_1,
  CKA.EXPONENT_2,
  CKA.COEFFICIENT,
]);

/** TokenObjects presents the offered keys as objects of a token: a private key, a public key and a certificate per key, and the issuer certificates. */
export class TokenObjects {
  private readonly objects: readonly TokenObject[];
  readonly mechanisms: readonly number[];

  constructor(keys: readonly AgentKey[]) {
    const own = keys.flatMap((key) => objectsOf(key));
    const known = new Set(keys.flatMap(({ chain }) => chain.slice(0, 1).map((der) => der.toString('base64'))));
    const issuers = new Map(keys.flatMap(({ chain }) => chain.slice(1).map((der) => [der.toString('base64'), der])));
    const others = [...issuers].filter(([name]) => !known.has(name)).map(([, der]) => issuerObject(der));
    this.objects = [...own, ...others];
    this.mechanisms = [...new Set(keys.flatMap((key) => mechanismsOf(key)))];
  }

  /** @throws CryptokiFault (CKR_OBJECT_HANDLE_INVALID) if no object has the handle */
  get(handle: number): TokenObject {
    const object = this.objects[handle - 1];
    if (object === undefined) throw new CryptokiFault(CKR.OBJECT_HANDLE_INVALID);
    return object;
  }

  /**
   * Returns the key of a private key object.
   *
   * @throws CryptokiFault (CKR_KEY_HANDLE_INVALID) if the handle does not belong to a private key
   */
  privateKey(handle: number): AgentKey {
    const key = this.objects[handle - 1]?.key;
    if (key === undefined) throw new CryptokiFault(CKR.KEY_HANDLE_INVALID);
    return key;
  }

  /** Returns the handles of the objects that have all attributes in the template. */
  find(template: readonly RpcAttribute[]): number[] {
    return this.objects.flatMap(({ attributes }, index) =>
      template.every(({ type, value }) => value !== undefined && attributes.get(type)?.equals(value) === true)
        ? [index + 1]
        : [],
    );
  }
}

/** Returns the value of an attribute, or the error code if the value is not available. */
export function valueOf(
  { attributes, key }: TokenObject,
  type: number,
): {
  readonly value: Buffer | undefined;
  readonly code: typeof CKR.OK | typeof CKR.ATTRIBUTE_SENSITIVE | typeof CKR.ATTRIBUTE_TYPE_INVALID;
} {
  const value = attributes.get(type);
  if (value !== undefined) return { value, code: CKR.OK };
  const isHidden = key !== undefined && SENSITIVE.has(type);
  return { value: undefined, code: isHidden ? CKR.ATTRIBUTE_SENSITIVE : CKR.ATTRIBUTE_TYPE_INVALID };
}

const EMPTY = Buffer.alloc(0);
const YES = boolean(true);
const NO = boolean(false);

function objectsOf(key: AgentKey): TokenObject[] {
  const [leaf] = key.chain;
  const certificate = leaf === undefined ? undefined : certificateParts(leaf);
  const common: [number, Buffer][] = [
    [CKA.TOKEN, YES],
    // The object is readable without a login, so that tools that do not log in can also find the key. The socket is the security boundary.
    [CKA.PRIVATE, NO],
    [CKA.MODIFIABLE, NO],
    [CKA.LABEL, Buffer.from(key.name)],
    [CKA.ID, idOf(key.publicKey)],
    [CKA.SUBJECT, certificate?.subject ?? EMPTY],
    [CKA.START_DATE, EMPTY],
    [CKA.END_DATE, EMPTY],
  ];
  const material: [number, Buffer][] = [
    ...common,
    ...publicParts(key),
    [CKA.LOCAL, YES],
    [CKA.DERIVE, NO],
    [CKA.ALLOWED_MECHANISMS, ulong(...mechanismsOf(key))],
  ];
  const objects: TokenObject[] = [
    { key, attributes: new Map([...material, ...PRIVATE_KEY]) },
    { attributes: new Map([...material, ...PUBLIC_KEY]) },
  ];
  if (certificate !== undefined)
    objects.push({ attributes: new Map([...common, ...certificateAttributes(certificate)]) });
  return objects;
}

const PRIVATE_KEY: readonly [number, Buffer][] = [
  [CKA.CLASS, ulong(CKO.PRIVATE_KEY)],
  [CKA.SIGN, YES],
  [CKA.SENSITIVE, YES],
  [CKA.ALWAYS_SENSITIVE, YES],
  [CKA.NEVER_EXTRACTABLE, YES],
  [CKA.EXTRACTABLE, NO],
  [CKA.SIGN_RECOVER, NO],
  [CKA.DECRYPT, NO],
  [CKA.UNWRAP, NO],
  [CKA.ALWAYS_AUTHENTICATE, NO],
  [CKA.WRAP_WITH_TRUSTED, NO],
];

const PUBLIC_KEY: readonly [number, Buffer][] = [
  [CKA.CLASS, ulong(CKO.PUBLIC_KEY)],
  [CKA.VERIFY, YES],
  [CKA.VERIFY_RECOVER, NO],
  [CKA.ENCRYPT, NO],
  [CKA.WRAP, NO],
  [CKA.TRUSTED, NO],
];

/** Returns the CKA_ID of a key and its certificate: the key identifier according to RFC 7093 section 2, method 1. */
function idOf(publicKey: Buffer): Buffer {
  return createHash('sha256').update(publicKey).digest().subarray(0, 20);
}

/** Returns the components of the public key (RFC 3279 sections 2.3.1 and 2.3.5), which PKCS #11 requires on both the public and the private key object. */
function publicParts({ publicKey }: AgentKey): [number, Buffer][] {
  const [identifier, bits] = elementsOfSequence(publicKey);
  if (identifier === undefined || bits === undefined) throw new RangeError('not a SubjectPublicKeyInfo');
  const [, parameters] = elementsOfSequence(identifier.raw);
  const key = bitStringOf(bits);
  if (parameters?.tag === OID)
    return [
      [CKA.KEY_TYPE, ulong(CKK.EC)],
      [CKA.EC_PARAMS, parameters.raw],
      [CKA.EC_POINT, octetString(key)],
    ];
  const [modulus, exponent] = elementsOfSequence(key);
  if (modulus === undefined || exponent === undefined) throw new RangeError('not an RSAPublicKey');
  const n = unsignedOf(modulus);
  return [
    [CKA.KEY_TYPE, ulong(CKK.RSA)],
    [CKA.MODULUS, n],
    [CKA.MODULUS_BITS, ulong(8 * n.length)],
    [CKA.PUBLIC_EXPONENT, unsignedOf(exponent)],
  ];
}

const OID = 0x06;
/** Tag of the version field: [0] EXPLICIT. */
const VERSION = 0xa0;

interface CertificateParts {
  readonly der: Buffer;
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly serialNumber: Buffer;
}

/** Reads the fields of a TBSCertificate in order (RFC 5280 section 4.1): version, serialNumber, signature, issuer, validity, subject. */
function certificateParts(der: Buffer): CertificateParts {
  const [tbs] = elementsOfSequence(der);
  const all = tbs === undefined ? [] : elementsOfSequence(tbs.raw);
  const [serialNumber, , issuer, , subject] = all[0]?.tag === VERSION ? all.slice(1) : all;
  if (serialNumber === undefined || issuer === undefined || subject === undefined)
    throw new RangeError('not a certificate');
  return { der, subject: subject.raw, issuer: issuer.raw, serialNumber: serialNumber.raw };
}

function certificateAttributes({ der, subject, issuer, serialNumber }: CertificateParts): [number, Buffer][] {
  return [
    [CKA.CLASS, ulong(CKO.CERTIFICATE)],
    [CKA.CERTIFICATE_TYPE, ulong(CKC_X_509)],
    [CKA.CERTIFICATE_CATEGORY, ulong(0)],
    [CKA.TRUSTED, NO],
    [CKA.SUBJECT, subject],
    [CKA.ISSUER, issuer],
    [CKA.SERIAL_NUMBER, serialNumber],
    [CKA.VALUE, der],
  ];
}

function issuerObject(der: Buffer): TokenObject {
  const { subject, publicKey } = new X509Certificate(der);
  return {
    attributes: new Map([
      [CKA.TOKEN, YES],
      [CKA.PRIVATE, NO],
      [CKA.MODIFIABLE, NO],
      [CKA.LABEL, Buffer.from(subject.replaceAll('\n', ', '))],
      [CKA.ID, idOf(publicKey.export({ type: 'spki', format: 'der' }))],
      [CKA.START_DATE, EMPTY],
      [CKA.END_DATE, EMPTY],
      ...certificateAttributes(certificateParts(der)),
    ]),
  };
}
