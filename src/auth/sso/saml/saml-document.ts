import { fromBase64 as strictBytes } from '../../../formats/encoding/base64.js';
import { isModestXml } from './xml-size.js';

/** Accepted values of Algorithm attributes: no SHA-1, no CBC, no transforms that select what is signed. */
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
  /** The document without an XML declaration. */
  readonly xml: string;
  /** Start tag of the root element. */
  readonly root: string;
}

/**
 * Returns the document and its root tag. Returns undefined for documents that no honest provider sends, before an XML parser reads them. Without comments,
 * CDATA, document types and processing instructions, start tags can be parsed unambiguously.
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

/** Decodes base64 up to the maximum size. Returns undefined for other input. */
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

/** Returns the unverified Issuers of a document, without surrounding white space. */
export function issuersIn(xml: string): string[] {
  return Array.from(xml.matchAll(/<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</g), ([, text = '']) =>
    withoutXmlBlanks(text).replaceAll('&amp;', '&'),
  );
}

/**
 * withoutXmlBlanks removes XML white space (XML 1.0 section 2.3) around a URI, which never contains white space. Names of users and groups are not
 * trimmed: to the provider, "chiefs" and "chiefs" with a line feed are two groups, and a user may have created the second.
 */
export function withoutXmlBlanks(uri: string): string {
  return uri.replace(/^[ \t\r\n]+/, '').replace(/(?<![ \t\r\n])[ \t\r\n]+$/, '');
}

function algorithmsOf(xml: string): string[] {
  return Array.from(
    xml.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')/g),
    ([, double, single]) => double ?? single ?? '',
  );
}
