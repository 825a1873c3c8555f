import { fromBase64 as strictBytes } from '../../../formats/encoding/base64.js';
import { isModestXml } from './xml-size.js';

/** Accepted values of Algorithm attributes: no SHA-1, no CBC, no transforms that choose what is signed. */
const ALGORITHMS = new Set([
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);

/** Maximum size of a message, in bytes of XML or of base64. */
export const MAX_DOCUMENT_BYTES = 256 * 1024;

export interface SamlDocument {
  /** Without a declaration. */
  readonly xml: string;
  /** Start tag of the root. */
  readonly root: string;
}

/**
 * Refuses documents that no honest provider sends before an XML parser sees them: undefined. Without comments, CDATA, document types and
 * processing instructions the text of a start tag is unambiguous.
 */
export function plainDocument(
  text: string,
  rootName: string,
  mayUse: (algorithm: string) => boolean = isAllowed,
): SamlDocument | undefined {
  const xml = text.replace(/^\uFEFF?<\?xml [^?<>]*\?>/, '').trimStart();
  if (xml.includes('<!') || xml.includes('<?')) return undefined;
  const [root] = new RegExp(`^<(?:[\\w.-]+:)?${rootName}\\b[^<>]*>`).exec(xml) ?? [];
  if (root === undefined || !isModestXml(xml)) return undefined;
  return algorithmsOf(xml).every(mayUse) ? { xml, root } : undefined;
}

/** Decodes base64 up to the maximum size; undefined for anything else. */
export function fromSamlBase64(encoded: string | undefined): Buffer | undefined {
  const text = encoded?.replaceAll(/\s/g, '') ?? '';
  return text !== '' && text.length <= MAX_DOCUMENT_BYTES ? strictBytes(text) : undefined;
}

export function isAllowed(algorithm: string): boolean {
  return ALGORITHMS.has(algorithm);
}

export function attributeOf(tag: string, name: string): string {
  const [, double, single] = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return double ?? single ?? '';
}

/** The unverified Issuers of a document, without indentation. */
export function issuersIn(xml: string): string[] {
  return Array.from(xml.matchAll(/<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</g), ([, text = '']) =>
    withoutIndentation(text).replaceAll('&amp;', '&'),
  );
}

/**
 * withoutIndentation removes white space of XML at the ends of a text if it includes a line break. Other blanks belong to the text: a group that is called
 * `staff` and a no-break space is another group at the provider.
 */
export function withoutIndentation(text: string): string {
  const [begin = ''] = /^[ \t\r\n]*/.exec(text) ?? [];
  const rest = /[\r\n]/.test(begin) ? text.slice(begin.length) : text;
  const end = endOfContent(rest);
  return /[\r\n]/.test(rest.slice(end)) ? rest.slice(0, end) : rest;
}

/** endOfContent returns the index behind the last character that is not white space of XML. */
function endOfContent(text: string): number {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

function algorithmsOf(xml: string): string[] {
  return Array.from(
    xml.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')/g),
    ([, double, single]) => double ?? single ?? '',
  );
}
