import { trimEndOf } from '../../platform/text/trim-end.js';
import { DER, derElements, type DerElement, dotted, elementsOfSequence } from './der-reader.js';

/**
 * Object identifiers by lowercase short and long names of attribute types: the names in RFC 4514 section 3, and other names used in client certificates (RFC
 * 4519, ETSI EN 319 412-1, the Baseline Requirements of the CA/Browser Forum).
 */
const TYPES: Readonly<Record<string, string>> = {
  cn: '2.5.4.3',
  commonname: '2.5.4.3',
  sn: '2.5.4.4',
  surname: '2.5.4.4',
  serialnumber: '2.5.4.5',
  c: '2.5.4.6',
  countryname: '2.5.4.6',
  l: '2.5.4.7',
  localityname: '2.5.4.7',
  st: '2.5.4.8',
  stateorprovincename: '2.5.4.8',
  street: '2.5.4.9',
  o: '2.5.4.10',
  organizationname: '2.5.4.10',
  ou: '2.5.4.11',
  organizationalunitname: '2.5.4.11',
  title: '2.5.4.12',
  businesscategory: '2.5.4.15',
  postalcode: '2.5.4.17',
  givenname: '2.5.4.42',
  gn: '2.5.4.42',
  dnqualifier: '2.5.4.46',
  pseudonym: '2.5.4.65',
  organizationidentifier: '2.5.4.97',
  uid: '0.9.2342.19200300.100.1.1',
  dc: '0.9.2342.19200300.100.1.25',
  emailaddress: '1.2.840.113549.1.9.1',
  e: '1.2.840.113549.1.9.1',
  jurisdictionl: '1.3.6.1.4.1.311.60.2.1.1',
  jurisdictionst: '1.3.6.1.4.1.311.60.2.1.2',
  jurisdictionc: '1.3.6.1.4.1.311.60.2.1.3',
  jurisdictioncountryname: '1.3.6.1.4.1.311.60.2.1.3',
};
const SET = 0x31;
/** Tags of strings with a well-defined encoding. TeletexString is excluded because programs disagree on its characters. */
const STRING = { utf8: 0x0c, numeric: 0x12, printable: 0x13, ia5: 0x16, bmp: 0x1e } as const;

/** `[type, value]`: the type as an object identifier, the value as text after `=`, or as hexadecimal DER after `#` if the value is not a string. */
type Attribute = readonly [type: string, value: string];

/**
 * ComparableName is a normalized distinguished name: the relative distinguished names in certificate order, each a set of attributes (RFC 5280 section
 * 4.1.2.4). Values are compared as written and case-sensitively, which is stricter than caseIgnoreMatch in RFC 4517. The string type in the certificate is
 * ignored.
 */
export type ComparableName = string;

/**
 * Parses a DER-encoded name.
 *
 * @throws RangeError if the bytes are not a name
 */
export function nameInDer(der: Buffer): ComparableName {
  const names = elementsOfSequence(der).map((relative) => {
    if (relative.tag !== SET) throw new RangeError('a relative distinguished name is not a SET');
    return derElements(relative.contents).map(attributeIn);
  });
  return comparable(names);
}

function attributeIn(element: DerElement): Attribute {
  const [type, value, ...rest] = elementsOfSequence(element.raw);
  if (type?.tag !== DER.oid || value === undefined || rest.length > 0)
    throw new RangeError('an attribute of a distinguished name cannot be parsed');
  return [dotted(type.contents), valueOf(value)];
}

function valueOf({ tag, contents, raw }: DerElement): string {
  if (tag === STRING.utf8) return `=${utf8(contents)}`;
  const isAscii = contents.every((octet) => octet < 0x80);
  if (isAscii && (tag === STRING.printable || tag === STRING.ia5 || tag === STRING.numeric))
    return `=${contents.toString('latin1')}`;
  if (tag === STRING.bmp && contents.length % 2 === 0) return `=${Buffer.from(contents).swap16().toString('utf16le')}`;
  return `#${raw.toString('hex')}`;
}

function utf8(octets: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    throw new RangeError('a string in a distinguished name is not UTF-8');
  }
}

function comparable(names: readonly (readonly Attribute[])[]): ComparableName {
  return JSON.stringify(names.map((relative) => relative.map((attribute) => JSON.stringify(attribute)).sort()));
}

const TYPE = / *([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+) *= */y;
/** Characters and escapes in a value (RFC 4514 section 3). Each character matches in only one way, which prevents excessive backtracking. */
const VALUE = /(?:[^\\"+,;<>\0]|\\[0-9A-Fa-f]{2}|\\[ "#+,;<=>\\])*/y;
const ESCAPED = /\\([0-9A-Fa-f]{2})|\\(.)|[^\\]+/g;
const HEX_DER = /^#((?:[0-9A-Fa-f]{2})+)$/;

/**
 * Parses a name in the RFC 4514 string representation, which lists the relative distinguished names in reverse order. Spaces around `,`, `+` and `=` are
 * accepted, because some programs print spaces there.
 *
 * @throws Error that describes the fault if the name is empty or cannot be parsed
 */
export function nameInText(text: string): ComparableName {
  if (text.startsWith('/')) throw new Error('is in the legacy OpenSSL format; print the name with openssl x509 -subject -nameopt RFC2253'); // prettier-ignore
  const names: Attribute[][] = [[]];
  for (let at = 0; ;) {
    const { attribute, end } = attributeAt(text, at);
    names[0]?.push(attribute);
    const separator = text[end];
    if (separator === undefined) break;
    if (separator === ',') names.unshift([]);
    else if (separator !== '+') throw new Error(`character ${end + 1} must be escaped with a backslash (RFC 4514)`);
    at = end + 1;
  }
  return comparable(names);
}

function attributeAt(text: string, at: number): { attribute: Attribute; end: number } {
  TYPE.lastIndex = at;
  const [, name] = TYPE.exec(text) ?? [];
  if (name === undefined)
    throw new Error(`an attribute type followed by = is missing after character ${at} (RFC 4514)`);
  const type = /^\d/.test(name) ? name : TYPES[name.toLowerCase()];
  if (type === undefined) throw new Error(`unknown attribute type ${name}: use its object identifier instead`);
  VALUE.lastIndex = TYPE.lastIndex;
  const [raw = ''] = VALUE.exec(text) ?? [];
  const value = textValueOf(raw);
  const isWhole = [undefined, ',', '+'].includes(text[VALUE.lastIndex]);
  if (value === '=' && isWhole) throw new Error(`the value of ${name} is empty`);
  return { attribute: [type, value], end: VALUE.lastIndex };
}

function textValueOf(raw: string): string {
  const [, hex] = HEX_DER.exec(trimEndOf(raw, ' ')) ?? [];
  if (hex !== undefined) {
    const [element, ...rest] = derElements(Buffer.from(hex, 'hex'));
    if (element === undefined || rest.length > 0) throw new Error('a value after # is not a single DER element');
    return valueOf(element);
  }
  if (raw.startsWith('#')) throw new Error('a value begins with # but is not hexadecimal (RFC 4514)');
  const parts = [...withoutEnd(raw).matchAll(ESCAPED)].map(([part, octet, character]) =>
    octet === undefined ? Buffer.from(character ?? part) : Buffer.from(octet, 'hex'),
  );
  return `=${utf8(Buffer.concat(parts))}`;
}

/** Removes trailing spaces, but keeps an escaped space. */
function withoutEnd(raw: string): string {
  const bare = trimEndOf(raw, ' ');
  const backslashes = bare.length - trimEndOf(bare, '\\').length;
  return backslashes % 2 === 1 ? `${bare} ` : bare;
}
