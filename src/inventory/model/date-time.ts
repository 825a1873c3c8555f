import type { CryptoProperties } from './document.js';

const DATE_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** isDate reports whether a text is a full-date: YYYY-MM-DD (RFC 3339 section 5.6). */
export function isDate(text: string): boolean {
  return DATE.test(text) && startsWithDay(text);
}

/** isDateTime reports whether a text is a date-time (RFC 3339 section 5.6). A leap second must be the last second of a day in UTC (section 5.7). */
export function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text) || !startsWithDay(text)) return false;
  return !text.startsWith('60', 17) || new Date(withoutLeapSecond(text)).toISOString().slice(11, 19) === '23:59:59';
}

/** Moves a leap second back by one second, because programs that use Unix time cannot represent it. */
function withoutLeapSecond(text: string): string {
  return `${text.slice(0, 17)}59${text.slice(19)}`;
}

/** Reports whether a text that starts with YYYY-MM-DD starts with a valid calendar day. */
function startsWithDay(text: string): boolean {
  return isDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)));
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** validityPeriodOf returns the validity period of a certificate or key. */
export function validityPeriodOf(crypto: CryptoProperties | undefined) {
  const { certificateProperties: certificate, relatedCryptoMaterialProperties: material } = crypto ?? {};
  const dates = material === undefined ? certificate : { ...certificate, ...material };
  return {
    notBefore: instant(dates?.['notValidBefore'] ?? dates?.['activationDate']),
    notAfter: instant(dates?.['notValidAfter'] ?? dates?.['expirationDate']),
  };
}

/** Matches a UTC time with seconds, in the years 1900 to 2099, on one of the days 1 to 28 of a month. This common case needs no further check. */
const PLAIN = /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** instant returns the value as a time that PostgreSQL accepts, or null. */
export function instant(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (PLAIN.test(value)) return value;
  if (!isDateTime(value)) return null;
  const time = new Date(value.startsWith('60', 17) ? withoutLeapSecond(value) : value);
  const year = time.getUTCFullYear();
  return Number.isNaN(time.getTime()) || year < 1 || year > 9999 ? null : time.toISOString();
}
