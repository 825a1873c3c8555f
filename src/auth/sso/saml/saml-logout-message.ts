import { getVerifiedXml, parseDomFromString, xpath } from '@node-saml/node-saml/lib/xml.js';
import { createPublicKey, verify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { usableCertificates } from '../providers/saml-certificates.js';
import {
  fromSamlBase64,
  isAllowed,
  issuersIn,
  MAX_DOCUMENT_BYTES,
  plainDocument,
  withoutXmlBlanks,
} from './saml-document.js';

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const FIELDS = { SAMLRequest: 'LogoutRequest', SAMLResponse: 'LogoutResponse' } as const;

/** The part of the DOM that is used here. TypeScript declares the DOM only for browsers. */
interface XmlElement {
  readonly localName: string | null;
  readonly namespaceURI: string | null;
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
}

/** A received message of either binding, before verification. */
export interface ArrivedMessage {
  readonly kind: 'LogoutRequest' | 'LogoutResponse';
  readonly xml: string;
  readonly relayState: string | undefined;
  /** Signature over the query, with the HTTP-Redirect binding; undefined if the XML itself is signed (HTTP-POST). */
  readonly query: { readonly text: string; readonly algorithm: string; readonly signature: Buffer } | undefined;
}

/** The verified content of a message. */
export interface LogoutMessage {
  readonly id: string;
  readonly issuer: string;
  readonly destination: string;
  readonly issuedAt: number;
  /** Value of NotOnOrAfter, in milliseconds since 1970; NaN if the attribute is not a valid time, undefined if the attribute is absent. */
  readonly notOnOrAfter: number | undefined;
  readonly inResponseTo: string;
  readonly nameId: string;
  readonly sessions: readonly string[];
  /** For responses: whether every session has ended, including sessions at other service providers. */
  readonly isComplete: boolean;
}

/** Reads a message of the HTTP-Redirect binding. `query` is the text after the question mark. Returns undefined if the query contains no such message. */
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

/** Reads a message of the HTTP-POST binding. Returns undefined if the form contains no such message. */
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

/** Returns the unverified Issuer, which selects the certificates. */
export function issuerSaidBy({ xml, kind }: ArrivedMessage): string {
  const [issuer = ''] = issuersIn(plainDocument(xml, kind)?.xml ?? '');
  return issuer;
}

/** Verifies a message with the trusted certificates and returns its signed content. Throws with the reason if no certificate verifies the message. */
export async function verifiedMessage(arrived: ArrivedMessage, trusted: readonly string[]): Promise<LogoutMessage> {
  const certificates = usableCertificates(trusted);
  const document = plainDocument(arrived.xml, arrived.kind);
  if (document === undefined) throw new Error('not a valid SAML message');
  const xml = arrived.query === undefined ? await signedXml(document.xml, certificates) : document.xml;
  if (arrived.query !== undefined) assertQuerySigned(arrived.query, certificates);
  const root: XmlElement = (await parseDomFromString(xml)).documentElement;
  if (root.localName !== arrived.kind || root.namespaceURI !== PROTOCOL) throw new Error(`not a ${arrived.kind}`);
  const attribute = (name: string): string => root.getAttribute(name) ?? '';
  const notOnOrAfter = attribute('NotOnOrAfter');
  return {
    id: attribute('ID'),
    issuer: withoutXmlBlanks(only(textOf(root, ASSERTION, 'Issuer'))),
    destination: attribute('Destination'),
    issuedAt: Date.parse(attribute('IssueInstant')),
    notOnOrAfter: notOnOrAfter === '' ? undefined : Date.parse(notOnOrAfter),
    inResponseTo: attribute('InResponseTo'),
    nameId: only(textOf(root, ASSERTION, 'NameID')),
    sessions: textOf(root, PROTOCOL, 'SessionIndex'),
    isComplete: statusOf(root).join() === SUCCESS,
  };
}

/** Returns the signed XML according to node-saml's verification; node-saml's own methods for logout messages also read unsigned parts. */
async function signedXml(xml: string, certificates: readonly string[]): Promise<string> {
  const { documentElement: root } = await parseDomFromString(xml);
  const signed = getVerifiedXml(xml, root, [...certificates]);
  if (signed === null) throw new Error('not signed with a certificate of the provider');
  return signed;
}

function assertQuerySigned(
  { text, algorithm, signature }: NonNullable<ArrivedMessage['query']>,
  certificates: readonly string[],
): void {
  const [, family, bits] = /#(rsa|ecdsa)-sha(256|384|512)$/.exec(algorithm) ?? [];
  if (!isAllowed(algorithm) || bits === undefined) throw new Error('the signature algorithm is not allowed');
  const isSigned = certificates.some((certificate) => {
    const key = createPublicKey(certificate);
    const isKind = key.asymmetricKeyType === (family === 'rsa' ? 'rsa' : 'ec');
    return isKind && verify(`sha${bits}`, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature);
  });
  if (!isSigned) throw new Error('not signed with a certificate of the provider');
}

/** Returns the status codes of both levels: a partial logout is a success with a second-level code. */
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
  return found.map((element) => element.textContent ?? '');
}

/** Returns the only item; an empty string if there are no items or several items. */
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

/** Inflates a message up to the maximum size, because a few bytes could inflate to gigabytes. */
function inflated(bytes: Buffer): string | undefined {
  try {
    return inflateRawSync(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES }).toString('utf8');
  } catch {
    return undefined;
  }
}
