/*
 * RC2 (RFC 2268) and RC4, with which old PKCS #12 files encrypt certificates. OpenSSL supports both ciphers only in its legacy provider, which is not
 * loaded. The ciphers are used only to read old files, never to protect data.
 */

/** PITABLE (RFC 2268 section 2), a permutation of the octets. */
const PI = Buffer.from(
  'd978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2179a59f587b34f1361456d8d09817d32bd8f40eb86b77b0bf09521225c6b4e82' +
    '54d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb6266fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed7' +
    '08e8eade8052eef784aa72ac354d6a2a961ad2715a1549744b9fd05e0418a4ecc2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731' +
    '2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a90d38341bab33ffb0bb480c5fb9b1cd2ec5f3db47e5a59c770aa62068fe7fc1ad',
  'hex',
);
const BLOCK = 8;
const ROTATIONS = [1, 2, 3, 5] as const;
/** Numbers of mixing rounds between the mashing rounds, in decryption order. */
const MIXES = [5, 6, 5] as const;

/**
 * Decrypts RC2 in CBC mode with PKCS #7 padding. The effective key length equals the length of `key`.
 *
 * @throws RangeError if the padding is invalid
 */
export function rc2Decrypt(key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  if (bytes.length === 0 || bytes.length % BLOCK !== 0) throw new RangeError('not a multiple of the block size');
  const words = rc2Words(key);
  const clear = Buffer.alloc(bytes.length);
  for (let at = 0; at < bytes.length; at += BLOCK) {
    rc2Block(words, bytes, at, clear);
    const before = at === 0 ? iv : bytes.subarray(at - BLOCK, at);
    for (let octet = 0; octet < BLOCK; octet += 1) clear[at + octet] = (clear[at + octet] ?? 0) ^ (before[octet] ?? 0);
  }
  const padding = clear.at(-1) ?? 0;
  const end = clear.length - padding;
  if (padding < 1 || padding > BLOCK || clear.subarray(end).some((octet) => octet !== padding))
    throw new RangeError('the padding is invalid');
  return clear.subarray(0, end);
}

function rc2Words(key: Buffer): Uint16Array {
  const octets = Buffer.alloc(128);
  key.copy(octets);
  const at = (index: number) => octets[index] ?? 0;
  const { length } = key;
  for (let index = length; index < 128; index += 1)
    octets[index] = PI[(at(index - 1) + at(index - length)) & 0xff] ?? 0;
  octets[128 - length] = PI[at(128 - length)] ?? 0;
  for (let index = 127 - length; index >= 0; index -= 1) octets[index] = PI[at(index + 1) ^ at(index + length)] ?? 0;
  return Uint16Array.from({ length: 64 }, (_, index) => octets.readUInt16LE(2 * index));
}

function rc2Block(words: Uint16Array, from: Buffer, at: number, to: Buffer): void {
  const r = [0, 1, 2, 3].map((index) => from.readUInt16LE(at + 2 * index));
  const get = (index: number) => r[index & 3] ?? 0;
  let word = 63;
  for (const [turn, rounds] of MIXES.entries()) {
    if (turn > 0) for (let i = 3; i >= 0; i -= 1) r[i] = (get(i) - (words[get(i + 3) & 63] ?? 0)) & 0xffff;
    for (let round = 0; round < rounds; round += 1)
      for (let i = 3; i >= 0; i -= 1) {
        const turned = ((get(i) >>> (ROTATIONS[i] ?? 0)) | (get(i) << (16 - (ROTATIONS[i] ?? 0)))) & 0xffff;
        const mixed = (get(i + 3) & get(i + 2)) + (~get(i + 3) & get(i + 1));
        r[i] = (turned - (words[word] ?? 0) - mixed) & 0xffff;
        word -= 1;
      }
  }
  for (const [index, value] of r.entries()) to.writeUInt16LE(value, at + 2 * index);
}

export function rc4(key: Buffer, bytes: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const swap = (a: number, b: number) => {
    const held = state[a] ?? 0;
    state[a] = state[b] ?? 0;
    state[b] = held;
  };
  for (let i = 0, j = 0; i < 256; i += 1) {
    j = (j + (state[i] ?? 0) + (key[i % key.length] ?? 0)) & 0xff;
    swap(i, j);
  }
  let [i, j] = [0, 0];
  return bytes.map((octet) => {
    i = (i + 1) & 0xff;
    j = (j + (state[i] ?? 0)) & 0xff;
    swap(i, j);
    return octet ^ (state[((state[i] ?? 0) + (state[j] ?? 0)) & 0xff] ?? 0);
  }) as Buffer;
}
