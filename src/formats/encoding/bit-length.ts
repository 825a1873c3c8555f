/** Length in bits of a big-endian integer that is not negative: an INTEGER of DER, an mpint of SSH. 0 for zero. */
export function bitLength(integer: Uint8Array): number {
  let start = 0;
  while (start < integer.length && integer[start] === 0) start += 1;
  const top = integer[start];
  return top === undefined ? 0 : (integer.length - start) * 8 - Math.clz32(top) + 24;
}
