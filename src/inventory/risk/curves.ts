/** Bits of curves whose names do not end in their size. */
const NAMED: Record<string, number> = {
  curve25519: 255,
  edwards25519: 255,
  ed25519: 255,
  x25519: 255,
  curve448: 448,
  edwards448: 448,
  ed448: 448,
  x448: 448,
  goldilocks448: 448,
  e222: 222,
  e521: 521,
  m221: 221,
};
const SIZED =
  /(?:sec[pt]|prime|brainpool[-_]?p|nist[-_/ ]?[pkb]?-?|ansi[-_]?[pt]|wap-wsg.{0,30}?|wtls|oakley.{0,30}?|(?<![a-z])[pkb]-)(\d{2,3})(?!\d)/i;
/** A JOSE name stands for a curve as well as a hash (RFC 7518 section 3.4). */
const JOSE: Record<string, number> = { es256: 256, es384: 384, es512: 521, es256k: 256 };

/** Size in bits of the curve that is named in a text, or null. */
export function curveBitsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const lower = text.toLowerCase();
  const jose = JOSE[lower];
  if (jose !== undefined) return jose;
  for (const [name, bits] of Object.entries(NAMED)) if (lower.replaceAll(/[-_ ]/g, '').includes(name)) return bits;
  const sized = SIZED.exec(lower)?.[1];
  return sized === undefined ? null : Number(sized);
}
