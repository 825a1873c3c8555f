import { isDateTime, withoutLeapSecond } from './formats.js';
import type { CryptoProperties } from './document.js';

/** From when and until when a certificate or key may be used, as it says itself. */
export function validityOf(crypto: CryptoProperties | undefined) {
  const { certificateProperties: certificate, relatedCryptoMaterialProperties: material } = crypto ?? {};
  const dates = material === undefined ? certificate : { ...certificate, ...material };
  return {
    notBefore: instant(dates?.['notValidBefore'] ?? dates?.['activationDate']),
    notAfter: instant(dates?.['notValidAfter'] ?? dates?.['expirationDate']),
  };
}

/** UTC to the second, of a year that every program knows and a day that every month has. */
const PLAIN = /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** A time that PostgreSQL takes as well, or null. */
export function instant(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (PLAIN.test(value)) return value;
  if (!isDateTime(value)) return null;
  const time = new Date(value.startsWith('60', 17) ? withoutLeapSecond(value) : value);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time.toISOString();
}
