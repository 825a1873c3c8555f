import { createPrivateKey, type KeyObject } from 'node:crypto';
import { oid } from '../../formats/asn1/der-writer.js';
import { type DerElement, elementsOfSequence, unsignedOf } from '../../formats/asn1/der-reader.js';
import { MAX_PRIVATE_KEY_OCTETS } from '../../formats/asn1/key-cost.js';
import { writePem } from '../../formats/encoding/base64.js';
import type { KeyBlock } from './key-blocks.js';
import { DSA, passphraseMissing, passphraseWrong, tooCostly, unreadable, unsupported } from './private-key-fault.js';
import { truncate } from '../../platform/text/truncate.js';

/** Maximum number of iterations of PBKDF2 or an older key derivation function. At this limit, the derivation takes about two seconds on one core. */
const MAX_ITERATIONS = 5_000_000;
/** Maximum N·r·p of scrypt (RFC 7914): four times the maximum that openssl writes. */
const MAX_SCRYPT = 1 << 20;

const isOid = (element: DerElement | undefined, dotted: string): boolean => element?.raw.equals(oid(dotted)) === true;
const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
/**
 * Older schemes with the parameters {salt, iterations}: the 3DES schemes of PKCS #12 (RFC 7292 appendix C). OpenSSL supports other older schemes only with its
 * legacy provider.
 */
const OLDER = ['1.2.840.113549.1.12.1.3', '1.2.840.113549.1.12.1.4'];

/**
 * Reads PKCS #1, SEC 1 and PKCS #8 (RFC 5958) keys, encrypted or not. The cost of decryption is checked before the key is decrypted. Throws PrivateKeyFault, or
 * RangeError if the block is not DER.
 */
export function readPemKey(block: KeyBlock, passphrase: string | undefined): KeyObject {
  if (block.label === 'DSA PRIVATE KEY') throw unsupported(DSA);
  if (!['PRIVATE KEY', 'ENCRYPTED PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY'].includes(block.label))
    throw unsupported(`is a ${truncate(block.label, 40)}, which is not supported`);
  const isEncrypted = block.label.startsWith('ENCRYPTED') || block.headers.has('DEK-Info');
  if (!isEncrypted) return opened(block, undefined);
  if (block.label === 'ENCRYPTED PRIVATE KEY') assertAffordable(block.body);
  else assertCipher(block.headers.get('DEK-Info') ?? '');
  if (passphrase === undefined) throw passphraseMissing();
  return opened(block, passphrase);
}

function opened(block: KeyBlock, passphrase: string | undefined): KeyObject {
  const octets = block.body.length;
  if (octets > MAX_PRIVATE_KEY_OCTETS) throw tooCostly(`has ${octets} bytes; the maximum is ${MAX_PRIVATE_KEY_OCTETS}`);
  try {
    return createPrivateKey({ key: writePem(block.label, block.body, block), format: 'pem', passphrase });
  } catch {
    throw passphrase === undefined ? unreadable(`is damaged: it is not a valid DER ${block.label}`) : passphraseWrong();
  }
}

/** Checks the cipher in the DEK-Info header of an RFC 1421 block: `AES-128-CBC,` and the hexadecimal IV. OpenSSL derives the key with one round of MD5. */
function assertCipher(info: string): void {
  const [name = ''] = info.split(',');
  if (!/^(?:AES-(?:128|192|256)-CBC|DES-EDE3-CBC)$/.test(name))
    throw unsupported(
      `is encrypted with the unsupported cipher ${truncate(name, 40)}: convert it with openssl pkcs8 -topk8`,
    );
}

/** Checks the cost of decrypting an EncryptedPrivateKeyInfo (RFC 5958 section 3). */
function assertAffordable(der: Buffer): void {
  const [algorithm] = elementsOfSequence(der);
  const [scheme, parameters] = membersOf(algorithm);
  if (OLDER.some((one) => isOid(scheme, one))) return assertIterations(membersOf(parameters)[1]);
  if (!isOid(scheme, PBES2))
    throw unsupported('is encrypted with an unsupported scheme: convert it with openssl pkcs8 -topk8');
  const [derivation] = membersOf(parameters);
  const [kdf, about] = membersOf(derivation);
  const values = membersOf(about);
  if (isOid(kdf, PBKDF2)) return assertIterations(values[1]);
  if (!isOid(kdf, SCRYPT)) throw unsupported('uses a key derivation other than PBKDF2 and scrypt');
  const cost = values.slice(1, 4).reduce((product, value) => product * numberOf(value), 1);
  if (cost > MAX_SCRYPT)
    throw tooCostly('uses scrypt parameters above the limit: encrypt the key again with lower parameters');
}

function membersOf(element: DerElement | undefined): DerElement[] {
  if (element === undefined) throw unreadable('is damaged: encryption parameters are missing');
  return elementsOfSequence(element.raw);
}

function assertIterations(element: DerElement | undefined): void {
  const iterations = numberOf(element);
  if (iterations > MAX_ITERATIONS) throw tooCostly(`uses ${iterations} iterations; the maximum is ${MAX_ITERATIONS}`);
}

function numberOf(element: DerElement | undefined): number {
  if (element === undefined) throw unreadable('is damaged: encryption parameters are missing');
  const digits = unsignedOf(element);
  return digits.length > 6 ? Infinity : digits.readUIntBE(0, digits.length);
}
