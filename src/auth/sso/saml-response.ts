import type { Profile } from '@node-saml/node-saml';
import { Problem } from '../../platform/http/problem.js';

const LONGEST = 256 * 1024;

/** What may stand in an Algorithm attribute: no SHA-1, no CBC, no transforms that choose what is signed. */
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

export interface SamlResponse {
  readonly encoded: string;
  readonly xml: string;
  /** Id of the request that it says it answers. */
  readonly inResponseTo: string;
  readonly destination: string;
}

/**
 * Reads as much of a response as is needed to find its request, and refuses what no honest provider sends before any XML parser sees
 * it. Without comments, CDATA, document types and processing instructions a start tag is what it looks like.
 */
export function readSamlResponse(encoded: string | undefined): SamlResponse {
  const text = encoded?.replaceAll(/\s/g, '') ?? '';
  if (text === '' || text.length > LONGEST || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw unreadable();
  const xml = Buffer.from(text, 'base64').toString('utf8');
  const body = xml.replace(/^\uFEFF?<\?xml [^?<>]*\?>/, '').trimStart();
  if (body.includes('<!') || body.includes('<?')) throw unreadable();
  const [root] = /^<(?:[\w.-]+:)?Response\b[^<>]*>/.exec(body) ?? [];
  if (root === undefined || !algorithmsOf(body).every((algorithm) => ALGORITHMS.has(algorithm))) throw unreadable();
  return {
    encoded: text,
    xml: body,
    inResponseTo: attributeOf(root, 'InResponseTo'),
    destination: attributeOf(root, 'Destination'),
  };
}

/** The response and the signed assertion were meant for us, and every Issuer in them is the provider that was asked. */
export function assertAddressedTo(
  { xml, destination, inResponseTo }: SamlResponse,
  profile: Profile,
  { acsUrl, entityId }: { acsUrl: string; entityId: string },
): void {
  if (destination !== acsUrl) throw new Error('the Destination is not our address');
  const issuers = Array.from(xml.matchAll(/<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</g), ([, issuer]) => issuer);
  const expected = entityId.replaceAll('&', '&amp;');
  if (profile.issuer !== entityId || issuers.length === 0 || issuers.some((issuer) => issuer !== expected)) {
    throw new Error('the Issuer is not the provider that was asked');
  }
  const confirmations = confirmationsOf(profile.getAssertion?.());
  const isOurs = confirmations.some((data) => data['Recipient'] === acsUrl && data['InResponseTo'] === inResponseTo);
  if (!isOurs) throw new Error('no SubjectConfirmation has our address as Recipient');
}

type Element = Record<string, unknown>;

/** Attributes of every SubjectConfirmationData of the signed assertion, as node-saml parsed it. */
function confirmationsOf(parsed: Element | undefined): Element[] {
  const assertion = first(parsed?.['Assertion']) ?? {};
  const subject = first(assertion['Subject']) ?? {};
  return listOf(subject['SubjectConfirmation'])
    .flatMap((confirmation) => listOf(confirmation['SubjectConfirmationData']))
    .map((data) => (data['$'] ?? {}) as Element);
}

function listOf(value: unknown): Element[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is Element => typeof item === 'object' && item !== null);
}

function first(value: unknown): Element | undefined {
  return listOf(value)[0];
}

function algorithmsOf(xml: string): string[] {
  return Array.from(
    xml.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')/g),
    ([, double, single]) => double ?? single ?? '',
  );
}

function attributeOf(tag: string, name: string): string {
  const [, double, single] = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return double ?? single ?? '';
}

function unreadable(): Problem {
  return new Problem('unauthenticated', 'sso.refused', 'The answer of the identity provider cannot be trusted.');
}
