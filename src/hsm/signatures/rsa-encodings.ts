import { createHash } from 'node:crypto';
import { DIGEST_BYTES, type DigestAlgorithm } from '../key-vault.js';

const TRAILER = 0xbc;

/**
 * Implements EMSA-PSS-ENCODE (RFC 8017 section 9.1.1) with MGF1 over the same digest. `salt` has the length of the digest. The result is as long as
 * the modulus, so that it can be used in the raw RSA operation.
 */
export function encodePss(algorithm: DigestAlgorithm, digest: Buffer, salt: Buffer, modulusBits: number): Buffer {
  const emBits = modulusBits - 1;
  const emLength = Math.ceil(emBits / 8);
  const hashLength = DIGEST_BYTES[algorithm];
  if (emLength < hashLength + salt.length + 2)
    throw new RangeError('the modulus is too short for this digest and salt');
  const hash = hashOfPadded(algorithm, digest, salt);
  const maskedBlock = Buffer.alloc(emLength - hashLength - 1);
  maskedBlock[maskedBlock.length - salt.length - 1] = 1;
  salt.copy(maskedBlock, maskedBlock.length - salt.length);
  xorMgf1(algorithm, hash, maskedBlock);
  maskedBlock[0] = (maskedBlock[0] ?? 0) & topByteMask(emBits);
  const encoded = Buffer.concat([maskedBlock, hash, Buffer.from([TRAILER])]);
  const modulusLength = Math.ceil(modulusBits / 8);
  return encoded.length === modulusLength
    ? encoded
    : Buffer.concat([Buffer.alloc(modulusLength - encoded.length), encoded]);
}

/**
 * Implements EMSA-PSS-VERIFY (RFC 8017 section 9.1.2) with MGF1 over the same digest and a salt of the digest's length. `encoded` is the result of
 * the public operation without padding, and as long as the modulus.
 */
export function verifyPss(algorithm: DigestAlgorithm, digest: Buffer, encoded: Buffer, modulusBits: number): boolean {
  const emBits = modulusBits - 1;
  const emLength = Math.ceil(emBits / 8);
  const hashLength = DIGEST_BYTES[algorithm];
  const surplus = encoded.length - emLength;
  if (surplus < 0 || emLength < 2 * hashLength + 2) return false;
  if (encoded.subarray(0, surplus).some((byte) => byte !== 0) || encoded.at(-1) !== TRAILER) return false;
  const block = Buffer.from(encoded.subarray(surplus, encoded.length - hashLength - 1));
  const hash = encoded.subarray(encoded.length - hashLength - 1, encoded.length - 1);
  if (((block[0] ?? 0) & ~topByteMask(emBits)) !== 0) return false;
  xorMgf1(algorithm, hash, block);
  block[0] = (block[0] ?? 0) & topByteMask(emBits);
  const separator = block.length - hashLength - 1;
  if (block.subarray(0, separator).some((byte) => byte !== 0) || block[separator] !== 1) return false;
  return hashOfPadded(algorithm, digest, block.subarray(separator + 1)).equals(hash);
}

/** Returns a mask for the bits in the first byte of EM that are within emBits. */
function topByteMask(emBits: number): number {
  return 0xff >> (8 * Math.ceil(emBits / 8) - emBits);
}

/** Returns the hash of M': eight zero bytes, digest, salt. */
function hashOfPadded(algorithm: DigestAlgorithm, digest: Buffer, salt: Buffer): Buffer {
  return createHash(algorithm).update(Buffer.alloc(8)).update(digest).update(salt).digest();
}

/** XORs `target` with MGF1(seed) (RFC 8017 appendix B.2.1). */
function xorMgf1(algorithm: DigestAlgorithm, seed: Buffer, target: Buffer): void {
  const counter = Buffer.alloc(4);
  for (let offset = 0, block = 0; offset < target.length; block += 1) {
    counter.writeUInt32BE(block);
    for (const byte of createHash(algorithm).update(seed).update(counter).digest()) {
      if (offset >= target.length) break;
      target[offset] = (target[offset] ?? 0) ^ byte;
      offset += 1;
    }
  }
}
