import { createHash, randomInt } from 'node:crypto';

/**
 * Sntrup761 is the client side of Streamlined NTRU Prime with p = 761, q = 4591 and weight 286 (Bernstein, Brumley, Chen, Chuengsatiansup, Lange, Marotzke,
 * Peng, Tuveri, van Vredendaal, Yang: "NTRU Prime, round 3"): key generation and decapsulation, with the encodings of sntrup761.c in OpenSSH.
 *
 * The implementation is intended for probes, which send no secrets. It does not run in constant time. A malformed ciphertext yields a wrong shared key instead
 * of an implicit rejection, but a signature over a wrong shared key proves nothing.
 */
export interface Sntrup761 {
  readonly publicKey: Buffer;
  readonly decapsulate: (ciphertext: Buffer) => Buffer;
}

export const SNTRUP761_CIPHERTEXT = 1039;

const P = 761;
const Q = 4591;
const HALF = (Q - 1) / 2;
const WEIGHT = 286;
/** Coefficients of a ciphertext are multiples of three. */
const ROUNDED = (Q + 2) / 3;
const LIMIT = 16_384;

/** Coefficients of a polynomial in the ring modulo x^761 - x - 1, constant term first. */
type Polynomial = Int32Array;

export function newSntrup761(): Sntrup761 {
  const [g, inverseOfG] = newInvertible();
  const f = newShort();
  const inverseOf3F = reciprocal(f, Q, modularInverse(3, Q));
  if (inverseOf3F === undefined) throw new Error('x^761 - x - 1 is irreducible modulo 4591');
  const h = product(inverseOf3F, g, Q);
  const publicKey = encode(
    Array.from(h, (one) => one + HALF),
    Array<number>(P).fill(Q),
  );
  const decapsulate = (ciphertext: Buffer): Buffer => {
    const c = Int32Array.from(decode(ciphertext, Array<number>(P).fill(ROUNDED)), (one) => one * 3 - HALF);
    const e = product(c, f, Q).map((one) => centred(centred(3 * one, Q), 3));
    return sessionKey(product(e, inverseOfG, 3), ciphertext);
  };
  return { publicKey, decapsulate };
}

function newInvertible(): [Polynomial, Polynomial] {
  for (;;) {
    const g = Int32Array.from({ length: P }, () => randomInt(3) - 1);
    const inverse = reciprocal(g, 3, 1);
    if (inverse !== undefined) return [g, inverse];
  }
}

/** Returns a random polynomial with exactly WEIGHT coefficients of 1 or -1. */
function newShort(): Polynomial {
  const short = Int32Array.from({ length: P }, (_, i) => (i < WEIGHT ? randomInt(2) * 2 - 1 : 0));
  for (let i = P - 1; i > 0; i -= 1) {
    const j = randomInt(i + 1);
    [short[i], short[j]] = [short[j] as number, short[i] as number];
  }
  return short;
}

/** Returns the representative of a residue class that is closest to zero. */
function centred(number: number, modulus: number): number {
  const half = (modulus - 1) / 2;
  return (((((number + half) % modulus) + modulus) % modulus) - half) | 0;
}

function modularInverse(number: number, modulus: number): number {
  let inverse = 1;
  for (let i = 0; i < modulus - 2; i += 1) inverse = centred(inverse * number, modulus); // Fermat
  return inverse;
}

function product(one: Polynomial, other: Polynomial, modulus: number): Polynomial {
  // Sums have at most 761 terms of at most 2295 and fit in 32 bits.
  const long = new Int32Array(2 * P - 1);
  for (let i = 0; i < P; i += 1)
    for (let j = 0; j < P; j += 1) long[i + j] = (long[i + j] as number) + (one[i] as number) * (other[j] as number);
  for (let i = 2 * P - 2; i >= P; i -= 1) {
    const carried = (long[i] as number) % modulus;
    long[i - P] = (long[i - P] as number) + carried;
    long[i - P + 1] = (long[i - P + 1] as number) + carried;
  }
  return long.subarray(0, P).map((number) => centred(number, modulus));
}

/** Returns `start` divided by the polynomial, using the division steps of Bernstein and Yang, or undefined if the polynomial has no inverse. */
function reciprocal(polynomial: Polynomial, modulus: number, start: number): Polynomial | undefined {
  let [f, g] = [new Int32Array(P + 1), new Int32Array(P + 1)];
  let [v, r] = [new Int32Array(P + 1), new Int32Array(P + 1)];
  [f[0], f[P - 1], f[P], r[0]] = [1, -1, -1, start];
  for (let i = 0; i < P; i += 1) g[P - 1 - i] = polynomial[i] as number;
  let delta = 1;
  for (let step = 0; step < 2 * P - 1; step += 1) {
    v.copyWithin(1, 0, P);
    v[0] = 0;
    if (delta > 0 && g[0] !== 0) {
      delta = -delta;
      [f, g, v, r] = [g, f, r, v];
    }
    delta += 1;
    const [f0, g0] = [f[0] as number, g[0] as number];
    for (let i = 0; i <= P; i += 1) {
      g[i] = (f0 * (g[i] as number) - g0 * (f[i] as number)) % modulus;
      r[i] = (f0 * (r[i] as number) - g0 * (v[i] as number)) % modulus;
    }
    g.copyWithin(0, 1);
    g[P] = 0;
  }
  if (delta !== 0) return undefined;
  const scale = modularInverse(f[0] as number, modulus);
  return Int32Array.from({ length: P }, (_, i) => centred(scale * (v[P - 1 - i] as number), modulus));
}

/** HashSession in the reference implementation: SHA-512 of a number and the input, truncated to 32 bytes. */
function sessionKey(r: Polynomial, ciphertext: Buffer): Buffer {
  const packed = Buffer.alloc(Math.ceil(P / 4));
  r.forEach((one, i) => {
    packed[i >> 2] = (packed[i >> 2] as number) | ((one + 1) << (2 * (i & 3)));
  });
  return hash(1, Buffer.concat([hash(3, packed), ciphertext]));
}

function hash(prefix: number, input: Buffer): Buffer {
  return createHash('sha512')
    .update(Buffer.from([prefix]))
    .update(input)
    .digest()
    .subarray(0, 32);
}

/**
 * Encodes numbers, each less than its entry in `moduli`, as bytes. Repeatedly merges pairs into one number and writes its low bytes, until one number is left.
 */
function encode(numbers: readonly number[], moduli: readonly number[]): Buffer {
  const bytes: number[] = [];
  const shorten = (number: number, modulus: number, limit: number): [number, number] => {
    let [left, most] = [number, modulus];
    for (; most >= limit; most = (most + 255) >> 8, left >>= 8) bytes.push(left & 255);
    return [left, most];
  };
  let pairs = numbers.map((number, i): [number, number] => [number, moduli[i] as number]);
  while (pairs.length > 1)
    pairs = halves(pairs).map(([low, high]) =>
      high === undefined ? low : shorten(low[0] + high[0] * low[1], low[1] * high[1], LIMIT),
    );
  for (const [number, modulus] of pairs) shorten(number, modulus, 2);
  return Buffer.from(bytes);
}

/** Inverse of `encode`. */
function decode(bytes: Buffer, moduli: readonly number[]): number[] {
  let at = 0;
  const lengthen = (modulus: number, limit: number): { most: number; bottom: number; scale: number } => {
    let [most, bottom, scale] = [modulus, 0, 1];
    for (; most >= limit; most = (most + 255) >> 8, scale *= 256) bottom += (bytes[at++] as number) * scale;
    return { most, bottom, scale };
  };
  const level = (of: readonly number[]): number[] => {
    const [only = 1] = of;
    if (of.length === 1) return [lengthen(only, 2).bottom % only];
    const pairs = halves(of).map(([low, high]) =>
      high === undefined
        ? { low, high, most: low, bottom: 0, scale: 1 }
        : { low, high, ...lengthen(low * high, LIMIT) },
    );
    const tops = level(pairs.map(({ most }) => most));
    return pairs.flatMap(({ low, high, bottom, scale }, i) => {
      const number = bottom + scale * (tops[i] as number);
      return high === undefined ? [number] : [number % low, Math.floor(number / low) % high];
    });
  };
  return level(moduli);
}

function halves<T>(list: readonly T[]): [T, T | undefined][] {
  return list.flatMap((one, i): [T, T | undefined][] => (i % 2 === 0 ? [[one, list[i + 1]]] : []));
}
