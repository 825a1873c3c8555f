const DATE_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,255}$/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const NO_IRI = /[\s<>"{}|\\^`]/;

/** RFC 3339 section 5.6; a leap second is the last of a day in UTC (section 5.7). */
export function isDateTime(text: string): boolean {
  const [, second] = DATE_TIME.exec(text) ?? [];
  if (second === undefined || !startsWithDay(text)) return false;
  return second !== '60' || new Date(withoutLeapSecond(text)).toISOString().slice(11, 19) === '23:59:59';
}

/** One second earlier: no program that keeps Unix time knows a leap second. */
export function withoutLeapSecond(text: string): string {
  return `${text.slice(0, 17)}59${text.slice(19)}`;
}

/** Of a text that starts with YYYY-MM-DD. */
function startsWithDay(text: string): boolean {
  return isDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)));
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** The formats that the CycloneDX schemas use; an unknown format is an annotation (JSON Schema draft-07, section 7.1). */
export function matchesFormat(format: string, text: string): boolean {
  switch (format) {
    case 'date-time':
      return isDateTime(text);
    case 'date':
      return DATE.test(text) && startsWithDay(text);
    case 'email':
    case 'idn-email':
      return EMAIL.test(text);
    case 'uri':
    case 'iri':
      return SCHEME.test(text) && !NO_IRI.test(text);
    case 'uri-reference':
    case 'iri-reference':
      return !NO_IRI.test(text);
    default:
      return true;
  }
}
