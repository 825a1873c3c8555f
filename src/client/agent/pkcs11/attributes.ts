import { CKA } from '../../../formats/pkcs/cryptoki.js';

/** Encoding of an attribute value in a message. `nested` attributes are templates. No object of the token has nested attributes. */
type AttributeKind = 'boolean' | 'ulong' | 'mechanisms' | 'nested' | 'bytes';

/** CK_BBOOL attributes in PKCS #11 2.40, and attributes that clients of version 3 request. */
const BOOLEANS = new Set<number>(
  [
    [CKA.TOKEN, CKA.PRIVATE, CKA.TRUSTED, CKA.SENSITIVE, CKA.ENCRYPT, CKA.DECRYPT, CKA.WRAP, CKA.UNWRAP],
    [CKA.SIGN, CKA.SIGN_RECOVER, CKA.VERIFY, CKA.VERIFY_RECOVER, CKA.DERIVE, CKA.EXTRACTABLE, CKA.LOCAL],
    [CKA.NEVER_EXTRACTABLE, CKA.ALWAYS_SENSITIVE, CKA.MODIFIABLE, CKA.ALWAYS_AUTHENTICATE, CKA.WRAP_WITH_TRUSTED],
    // CKA_COPYABLE, CKA_SECONDARY_AUTH, CKA_RESET_ON_INIT, CKA_HAS_RESET, CKA_COLOR, CKA_ENCAPSULATE, CKA_DECAPSULATE
    [0x171, 0x200, 0x301, 0x302, 0x405, 0x633, 0x634],
  ].flat(),
);
const ULONGS = new Set<number>(
  [
    [CKA.CLASS, CKA.CERTIFICATE_TYPE, CKA.CERTIFICATE_CATEGORY, CKA.KEY_TYPE, CKA.MODULUS_BITS],
    // CKA_JAVA_MIDP_SECURITY_DOMAIN, CKA_PRIME_BITS, CKA_SUBPRIME_BITS, CKA_VALUE_BITS, CKA_VALUE_LEN, CKA_KEY_GEN_MECHANISM, CKA_AUTH_PIN_FLAGS
    [0x88, 0x133, 0x134, 0x160, 0x161, 0x166, 0x201],
    // CKA_HW_FEATURE_TYPE, CKA_PIXEL_X to CKA_BITS_PER_PIXEL, CKA_MECHANISM_TYPE, CKA_PARAMETER_SET
    [0x300, 0x400, 0x401, 0x402, 0x403, 0x404, 0x406, 0x500, 0x61d],
  ].flat(),
);
/** CKA_WRAP_TEMPLATE, CKA_UNWRAP_TEMPLATE, CKA_DERIVE_TEMPLATE. */
const NESTED = new Set<number>([0x40000211, 0x40000212, 0x40000213]);

export function attributeKindOf(type: number): AttributeKind {
  if (BOOLEANS.has(type)) return 'boolean';
  if (ULONGS.has(type)) return 'ulong';
  if (NESTED.has(type)) return 'nested';
  return type === CKA.ALLOWED_MECHANISMS ? 'mechanisms' : 'bytes';
}

/** Attribute values as stored and compared: one byte for a boolean, eight for a ulong, eight per entry for a list of mechanisms. */
export const boolean = (value: boolean): Buffer => Buffer.from([value ? 1 : 0]);

export function ulong(...values: number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => bytes.writeBigUInt64BE(BigInt(value), 8 * index));
  return bytes;
}
