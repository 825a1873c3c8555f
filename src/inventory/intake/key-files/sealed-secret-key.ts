import { createDecipheriv, hash } from 'node:crypto';
import { derElements } from '../../../formats/asn1/der-reader.js';
import { DerivationBudget } from '../../../formats/pkcs/password-encryption.js';
import { type JavaObject, type JavaValue, readJavaObject } from '../../../formats/java/object-stream.js';
import { truncate } from '../../../platform/text/truncate.js';

/** SecretKeyFacts is the algorithm and length of a secret key. */
export interface SecretKeyFacts {
  readonly algorithm: string;
  readonly bits: number;
}

/** Sun's encryption scheme for keys in a JCEKS store. */
const SEAL = 'PBEWithMD5AndTripleDES';
const SALT = 8;

/** sealName returns the name of the scheme that protects a sealed key. */
export function sealName(sealed: JavaValue): string {
  const algorithm = fieldsOf(sealed)?.get('sealAlg');
  return typeof algorithm === 'string' && /^[\w/.-]{1,60}$/.test(algorithm) ? algorithm : SEAL;
}

/**
 * secretKeyFacts decrypts a `javax.crypto.SealedObject` to read the algorithm and length of the key. The key itself is overwritten immediately. Returns
 * undefined if the password is wrong, if the scheme is not supported, or if the key derivation exceeds the remaining budget.
 */
export function secretKeyFacts(
  sealed: JavaValue,
  password: string,
  budget: DerivationBudget,
): SecretKeyFacts | undefined {
  const fields = fieldsOf(sealed);
  const [parameters, content] = [fields?.get('encodedParams'), fields?.get('encryptedContent')];
  if (!Buffer.isBuffer(parameters) || !Buffer.isBuffer(content) || sealName(sealed) !== SEAL) return undefined;
  let clear: Buffer | undefined;
  try {
    const [salt, rounds] = derElements(derElements(parameters)[0]?.contents ?? Buffer.alloc(0));
    const count =
      rounds === undefined || rounds.contents.length > 4 ? 0 : rounds.contents.readUIntBE(0, rounds.contents.length);
    if (salt?.contents.length !== SALT || !budget.take(count)) return undefined;
    const material = keyMaterial(password, salt.contents, count);
    const decipher = createDecipheriv('des-ede3-cbc', material.subarray(0, 24), material.subarray(24, 32));
    clear = Buffer.concat([decipher.update(content), decipher.final()]);
    return factsOf(readJavaObject(clear, 0).value);
  } catch {
    return undefined;
  } finally {
    clear?.fill(0);
  }
}

/**
 * Derives the key like the JDK's `PBECipherCore`: MD5 of each half of the salt, iterated with the password. Salts with equal halves, which the JDK handles
 * differently, are not supported. The probability of such a salt is one in four billion.
 */
function keyMaterial(password: string, salt: Buffer, rounds: number): Buffer {
  const secret = Buffer.from(password, 'latin1').map((octet) => octet & 0x7f);
  const halves = [salt.subarray(0, 4), salt.subarray(4)].map((half) => {
    let digest: Buffer = half;
    for (let round = 0; round < rounds; round += 1) digest = hash('md5', Buffer.concat([digest, secret]), 'buffer');
    return digest;
  });
  return Buffer.concat(halves);
}

/** Reads a `SecretKeySpec`, or the `KeyRep` that the JDK writes for its internal key classes. */
function factsOf(key: JavaValue): SecretKeyFacts | undefined {
  const fields = fieldsOf(key);
  const [algorithm, octets] = [fields?.get('algorithm'), fields?.get('key') ?? fields?.get('encoded')];
  if (typeof algorithm !== 'string' || !Buffer.isBuffer(octets)) return undefined;
  return namedSecretKey(algorithm, octets.length);
}

/** namedSecretKey returns the facts about a secret key, given the JCA name of its algorithm and its length in bytes. */
export function namedSecretKey(algorithm: string, octets: number): SecretKeyFacts {
  const name = truncate(algorithm, 60);
  return { algorithm: name, bits: keyBits(name, octets) };
}

/** JCA algorithm names by the OIDs that Bouncy Castle uses. */
const SECRET_KEYS: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.1': 'AES',
  '2.16.840.1.101.3.4.1.42': 'AES',
  '1.2.840.113549.3.7': 'DESede',
  '1.2.840.113549.3.17': 'DESede',
  '1.2.840.113549.2.7': 'HmacSHA1',
  '1.2.840.113549.2.8': 'HmacSHA224',
  '1.2.840.113549.2.9': 'HmacSHA256',
  '1.2.840.113549.2.10': 'HmacSHA384',
  '1.2.840.113549.2.11': 'HmacSHA512',
  '1.2.392.200011.61.1.1.1.4': 'Camellia',
  '1.2.410.200004.1.4': 'SEED',
  '1.2.410.200046.1.1.12': 'ARIA',
};

/** secretKeyOf returns the facts about a secret key, given the OID of its algorithm and its length in bytes. */
export function secretKeyOf(oid: string, octets: number): SecretKeyFacts {
  const algorithm = SECRET_KEYS[oid] ?? oid;
  return { algorithm, bits: keyBits(algorithm, octets) };
}

/** Returns the key size in bits. Each byte of a DES key contains a parity bit, which is not counted. */
function keyBits(algorithm: string, octets: number): number {
  return /^(?:DES|DESede|TripleDES)$/i.test(algorithm) ? octets * 7 : octets * 8;
}

function fieldsOf(value: JavaValue): JavaObject['fields'] | undefined {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value) ? value.fields : undefined;
}
