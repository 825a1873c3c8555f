/** Offsets of the two hexadecimal digits of each byte in the text of a UUID (RFC 9562 section 4). */
const DIGITS_AT = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);
/** Values of hexadecimal digits by character code. */
const NIBBLES = new Uint8Array(128);
const HEX = Buffer.from('0123456789abcdef', 'latin1');
for (const [value, digit] of HEX.entries()) NIBBLES[digit] = value;
const VERSION_AT = 6;
const VARIANT_AT = 8;
/** Buffer that is reused for all UUIDs, because concatenating the parts would take longer than the hash. */
const TEXT = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');

/**
 * writeUuid writes the 16 bytes of a UUID at `at` and returns the offset after them.
 * @param text lowercase, as 8-4-4-4-12 hexadecimal digits
 */
export function writeUuid(bytes: Buffer, text: string, at: number): number {
  for (let index = 0; index < DIGITS_AT.length; index += 1) {
    const digit = DIGITS_AT[index] ?? 0;
    bytes[at + index] = ((NIBBLES[text.charCodeAt(digit)] ?? 0) << 4) | (NIBBLES[text.charCodeAt(digit + 1)] ?? 0);
  }
  return at + DIGITS_AT.length;
}

/** uuidAt returns the text of the UUID whose 16 bytes begin at `at`. */
export function uuidAt(bytes: Buffer, at: number): string {
  return bytes.toString('hex', at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * uuidOfDigest returns a UUIDv8 (RFC 9562 section 5.8) of the first 16 bytes of a digest.
 * @param digest one character per byte, as in the encoding `binary`
 */
export function uuidOfDigest(digest: string): string {
  for (let index = 0; index < DIGITS_AT.length; index += 1) {
    let byte = digest.charCodeAt(index);
    if (index === VERSION_AT) byte = 0x80 | (byte & 0x0f);
    else if (index === VARIANT_AT) byte = 0x80 | (byte & 0x3f);
    const at = DIGITS_AT[index] ?? 0;
    TEXT[at] = HEX[byte >> 4] ?? 0;
    TEXT[at + 1] = HEX[byte & 0x0f] ?? 0;
  }
  return TEXT.toString('latin1');
}
