import { getVerifiedXml, parseDomFromString, xpath } from '@node-saml/node-saml/lib/xml.js';
import { createPublicKey, verify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { usableCertificates } from './saml-certificates.js';
import { fromSamlBase64, isAllowed, MAX_DOCUMENT_BYTES, plainDocument } from './saml-document.js';

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const FIELDS = { SAMLRequest: 'LogoutRequest', SAMLResponse: 'LogoutResponse' } as const;

/** What is used of a DOM, whose types belong to browsers. */
interface XmlElement {
  readonly localName: string | null;
  readonly namespaceURI: string | null;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
}

/** A message as it came, by either binding, with nothing believed yet. */
export interface ArrivedMessage {
  readonly kind: 'LogoutRequest' | 'LogoutResponse';
  readonly xml: string;
  readonly relayState: string | undefined;
  /** Signature over the query, of the HTTP-Redirect binding; undefined where the XML itself is signed (HTTP-POST). */
  readonly query: { readonly text: string; readonly algorithm: string; readonly signature: Buffer } | undefined;
}

/** What the signed part of a message says. */
export interface LogoutMessage {
  readonly id: string;
  readonly issuer: string;
  readonly destination: string;
  readonly issuedAt: number;
  /** NaN when it is no time; undefined when it does not say. */
  readonly notOnOrAfter: number | undefined;
  readonly inResponseTo: string;
  readonly nameId: string;
  readonly sessions: readonly string[];
  /** Of a response: every session is over, also those at others. */
  readonly isComplete: boolean;
}

/** HTTP-Redirect: `query` is the text behind the question mark. Undefined for what is no such message. */
export function fromRedirect(query: string): ArrivedMessage | undefined {
  const pairs = query.split('&').map((pair) => [pair.split('=', 1)[0] ?? '', pair] as const);
  const parts = new Map(pairs);
  const value = (name: string): string | undefined => decoded(parts.get(name)?.slice(name.length + 1));
  const field = parts.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse';
  const [bytes, signature] = [fromSamlBase64(value(field)), fromSamlBase64(value('Signature'))];
  if (parts.size !== pairs.length || bytes === undefined || signature === undefined) return undefined;
  const xml = inflated(bytes);
  if (xml === undefined) return undefined;
  const signed = [field, 'RelayState', 'SigAlg'].flatMap((name) => parts.get(name) ?? []);
  const proof = { text: signed.join('&'), algorithm: value('SigAlg') ?? '', signature };
  return { kind: FIELDS[field], xml, relayState: value('RelayState'), query: proof };
}

/** HTTP-POST: a form. Undefined for what is no such message. */
export function fromForm(form: URLSearchParams): ArrivedMessage | undefined {
  const field = form.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse';
  const [encoded, ...others] = form.getAll(field);
  const bytes = fromSamlBase64(encoded);
  if (bytes === undefined || others.length > 0) return undefined;
  return {
    kind: FIELDS[field],
    xml: bytes.toString('utf8'),
    relayState: form.get('RelayState') ?? undefined,
    query: undefined,
  };
}

/** The Issuer that it names, to find the certificates with. Not to be believed. */
export function issuerSaidBy({ xml, kind }: ArrivedMessage): string {
  const document = plainDocument(xml, kind);
  const [, issuer = ''] = /<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</.exec(document?.xml ?? '') ?? [];
  return issuer.replaceAll('&amp;', '&');
}

/** What one of these certificates has signed; throws when none has, and when something else than the signed part would be read. */
export async function verifiedMessage(arrived: ArrivedMessage, trusted: readonly string[]): Promise<LogoutMessage> {
  const certificates = usableCertificates(trusted);
  const document = plainDocument(arrived.xml, arrived.kind);
  if (document === undefined) throw new Error('it is not what an honest provider sends');
  const xml = arrived.query === undefined ? await signedXml(document.xml, certificates) : document.xml;
  if (arrived.query !== undefined) assertQuerySigned(arrived.query, certificates);
  const root: XmlElement = (await parseDomFromString(xml)).documentElement;
  if (root.localName !== arrived.kind || root.namespaceURI !== PROTOCOL) throw new Error(`it is no ${arrived.kind}`);
  const attribute = (name: string): string => root.getAttribute(name) ?? '';
  const notOnOrAfter = attribute('NotOnOrAfter');
  return {
    id: attribute('ID'),
    issuer: only(textOf(root, ASSERTION, 'Issuer')),
    destination: attribute('Destination'),
    issuedAt: Date.parse(attribute('IssueInstant')),
    notOnOrAfter: notOnOrAfter === '' ? undefined : Date.parse(notOnOrAfter),
    inResponseTo: attribute('InResponseTo'),
    nameId: only(textOf(root, ASSERTION, 'NameID')),
    sessions: textOf(root, PROTOCOL, 'SessionIndex'),
    isComplete: statusOf(root).join() === SUCCESS,
  };
}

/** node-saml's check that keeps to what was signed; its own methods for logout messages read the rest as well. */
async function signedXml(xml: string, certificates: readonly string[]): Promise<string> {
  const { documentElement: root } = await parseDomFromString(xml);
  const signed = getVerifiedXml(xml, root, [...certificates]);
  if (signed === null) throw new Error('no certificate of the provider has signed it');
  return signed;
}

function assertQuerySigned(
  { text, algorithm, signature }: NonNullable<ArrivedMessage['query']>,
  certificates: readonly string[],
): void {
  const [, family, bits] = /#(rsa|ecdsa)-sha(256|384|512)$/.exec(algorithm) ?? [];
  if (!isAllowed(algorithm) || bits === undefined) throw new Error('its signature algorithm is not allowed');
  const isSigned = certificates.some((certificate) => {
    const key = createPublicKey(certificate);
    const isKind = key.asymmetricKeyType === (family === 'rsa' ? 'rsa' : 'ec');
    return isKind && verify(`sha${bits}`, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature);
  });
  if (!isSigned) throw new Error('no certificate of the provider has signed it');
}

/** Top and second level: partial logout is a success with a second code. */
function statusOf(root: XmlElement): string[] {
  const code = `*[local-name()='StatusCode' and namespace-uri()='${PROTOCOL}']`;
  const codes: XmlElement[] = xpath.selectElements(root, `./*[local-name()='Status']/descendant::${code}`);
  return codes.map((element) => element.getAttribute('Value') ?? '');
}

function textOf(root: XmlElement, namespace: string, name: string): string[] {
  const found: XmlElement[] = xpath.selectElements(
    root,
    `./*[local-name()='${name}' and namespace-uri()='${namespace}']`,
  );
  return found.map((element) => (element.textContent ?? '').trim());
}

/** Of two names neither counts. */
function only([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : '';
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** A few bytes may stand for gigabytes: no more than a message may have. */
function inflated(bytes: Buffer): string | undefined {
  try {
    return inflateRawSync(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES }).toString('utf8');
  } catch {
    return undefined;
  }
}
