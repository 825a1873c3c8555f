import type { Profile } from '@node-saml/passport-saml';
import { Problem } from '../../../platform/errors/problem.js';
import {
  attributeOf,
  fromSamlBase64,
  isAllowed,
  issuersIn,
  withoutXmlBlanks,
  MAX_DOCUMENT_BYTES,
  plainDocument,
} from './saml-document.js';
import { MAX_DEPTH, MAX_ELEMENTS } from './xml-size.js';

export interface SamlResponse {
  readonly encoded: string;
  readonly xml: string;
  /** ID of the request that the response claims to answer. */
  readonly inResponseTo: string;
  /** Destination of the response; empty if absent. */
  readonly destination: string;
  /** Whether the response itself is signed, not only the assertion. */
  readonly isSigned: boolean;
  /** Whether the response contains an EncryptedAssertion (SAML core section 2.3.4). */
  readonly isEncrypted: boolean;
}

/** Accepted clock skew of providers. */
export const SKEW_MS = 60_000;
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const ENCRYPTED = /<(?:[\w.-]{1,100}:)?EncryptedAssertion\b/;

/** Reads the parts of a response that are needed to find its request, and rejects documents that no honest provider sends. */
export function readSamlResponse(encoded: string | undefined): SamlResponse {
  const text = fromSamlBase64(encoded)?.toString('utf8') ?? '';
  const isEncrypted = ENCRYPTED.test(text);
  // An encrypted assertion is rejected later because of the encryption, so its algorithms are not checked here.
  const document = plainDocument(text, 'Response', isEncrypted ? () => true : isAllowed);
  if (document === undefined) throw unreadable();
  const { xml, root } = document;
  return {
    encoded: encoded ?? '',
    xml,
    inResponseTo: attributeOf(root, 'InResponseTo'),
    destination: attributeOf(root, 'Destination'),
    isSigned: signedReferences(xml).some((uri) => uri === '' || uri === `#${attributeOf(root, 'ID')}`),
    isEncrypted,
  };
}

function signedReferences(xml: string): string[] {
  return Array.from(
    xml.matchAll(/\bURI\s*=\s*(?:"([^"]*)"|'([^']*)')/g),
    ([, double, single]) => double ?? single ?? '',
  );
}

/**
 * Checks that the response and the signed assertion are addressed to this service, and that every Issuer in them is the expected provider. A response that is
 * not signed itself may omit the Destination (SAML bindings, section 3.5.5.2), because the signed assertion contains the Recipient.
 */
export function assertAddressedTo(
  { xml, destination, isSigned, inResponseTo }: SamlResponse,
  profile: Profile,
  { acsUrl, entityId }: { acsUrl: string; entityId: string },
): void {
  const mayBeAbsent = destination === '' && !isSigned;
  if (!mayBeAbsent && !isSameAddress(destination, acsUrl))
    throw new Error(`the Destination is ${destination}, not ${acsUrl}`);
  if (!profile.issuer) throw new Error('the assertion has no Issuer');
  const other = [withoutXmlBlanks(profile.issuer), ...issuersIn(xml)].find((issuer) => issuer !== entityId);
  if (other !== undefined) throw new Error(`the Issuer is ${other}, not the entity ID ${entityId}`);
  const isOurs = bearersOf(profile.getAssertion?.()).some(
    (data) => isSameAddress(data['Recipient'], acsUrl) && data['InResponseTo'] === inResponseTo && isOfNow(data),
  );
  if (!isOurs)
    throw new Error(
      'no valid bearer SubjectConfirmation names this service as Recipient and the request in InResponseTo',
    );
}

/**
 * Returns the names of the top-level and second-level status codes (SAML core section 3.2.2.2), such as `Responder, RequestDenied`. The names are not signed.
 */
export function statusNames(status: string): string {
  return Array.from(status.matchAll(/"urn:oasis:names:tc:SAML:2\.0:status:(\w{1,40})"/g), ([, name]) => name).join(
    ', ',
  );
}

/** Reports whether two URLs are the same, even with an explicit default port or a host in upper case. */
export function isSameAddress(stated: unknown, ours: string): boolean {
  return typeof stated === 'string' && URL.canParse(stated) && new URL(stated).href === new URL(ours).href;
}

/**
 * Returns the time at which the person authenticated at the provider: the earliest AuthnInstant of the signed assertion. Returns null if a statement has no
 * valid AuthnInstant.
 */
export function authenticatedAt(profile: Profile): Date | null {
  const times = statementsOf(profile).map(({ AuthnInstant: instant }) => timeOf(instant));
  return earliestOf(times);
}

/**
 * Returns the time at which the provider ends the session: the earliest SessionNotOnOrAfter of the signed assertion (SAML core section 2.7.2);
 * undefined if absent.
 *
 * @throws Error if the time is in the past or cannot be parsed
 */
export function sessionEndOf(profile: Profile): Date | undefined {
  const times = statementsOf(profile).flatMap(({ SessionNotOnOrAfter: end }) =>
    end === undefined ? [] : [timeOf(end)],
  );
  if (times.length === 0) return undefined;
  const end = earliestOf(times);
  if (end === null) throw new Error('SessionNotOnOrAfter is not a valid time');
  if (end.getTime() <= Date.now() - SKEW_MS)
    throw new Error('the session at the provider has already ended (SessionNotOnOrAfter)');
  return end;
}

/** Returns the XML attributes of every AuthnStatement. */
function statementsOf(profile: Profile): Element[] {
  const statements = listOf(first(profile.getAssertion?.()['Assertion'])?.['AuthnStatement']);
  return statements.map(({ $: own }) => (own ?? {}) as Element);
}

function earliestOf(times: readonly number[]): Date | null {
  const earliest = Math.min(...times);
  return times.length === 0 || Number.isNaN(earliest) ? null : new Date(earliest);
}

const KNOWN_CONDITIONS = new Set(['$', 'AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']);

/**
 * assertUnderstood rejects an assertion of any version other than 2.0, and an assertion with an unsupported condition, because the sender relies on
 * its conditions (SAML core section 2.5.1.1).
 */
export function assertUnderstood(profile: Profile): void {
  const assertion = first(profile.getAssertion?.()['Assertion']) ?? {};
  const version = (assertion['$'] as Element | undefined)?.['Version'];
  if (version !== '2.0') throw new Error(`the version of the assertion is ${String(version)}, not 2.0`);
  const unknown = listOf(assertion['Conditions'])
    .flatMap((conditions) => Object.keys(conditions))
    .find((name) => !KNOWN_CONDITIONS.has(name));
  if (unknown !== undefined) throw new Error(`the assertion has an unsupported condition: ${unknown}`);
}

/**
 * identityOf returns the NameID and the session of the signed assertion. node-saml adds the attributes of a person to its profile by name, so an
 * attribute "nameID" would replace a missing element.
 */
export function identityOf(
  profile: Profile,
): Pick<Profile, 'nameID' | 'nameIDFormat' | 'nameQualifier' | 'spNameQualifier' | 'sessionIndex'> {
  const assertion = first(profile.getAssertion?.()['Assertion']) ?? {};
  const [name] = [first(assertion['Subject'])?.['NameID'] ?? []].flat();
  const own = (name as Element | undefined)?.['$'];
  return {
    nameID: textIn(name) ?? '',
    nameIDFormat: textAt(own, 'Format') ?? '',
    nameQualifier: textAt(own, 'NameQualifier'),
    spNameQualifier: textAt(own, 'SPNameQualifier'),
    sessionIndex: textAt(statementsOf(profile)[0], 'SessionIndex'),
  };
}

function textAt(attributes: unknown, name: string): string | undefined {
  const value = (attributes as Element | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the AuthnContextClassRef of every AuthnStatement of the signed assertion; an empty string for a statement without an AuthnContextClassRef. */
export function contextsOf(profile: Profile): string[] {
  const statements = listOf(first(profile.getAssertion?.()['Assertion'])?.['AuthnStatement']);
  return statements.map((statement) => {
    const [reference] = [first(statement['AuthnContext'])?.['AuthnContextClassRef'] ?? []].flat();
    return withoutXmlBlanks(textIn(reference) ?? '');
  });
}

/**
 * Returns the attributes of the signed assertion by name: a string, or a list of strings if there are several values. A provider may write one
 * element per value, all with the same name, as Keycloak does for roles and groups; node-saml keeps only the last of these elements. White space and
 * line endings are preserved.
 */
export function attributesOf(profile: Profile): Record<string, unknown> {
  const assertion = first(profile.getAssertion?.()['Assertion']) ?? {};
  const byName = new Map<string, unknown[]>();
  for (const statement of listOf(assertion['AttributeStatement']))
    for (const attribute of listOf(statement['Attribute'])) {
      const name = (attribute['$'] as Element | undefined)?.['Name'];
      const values = [attribute['AttributeValue'] ?? []].flat().map(textIn);
      if (typeof name === 'string') byName.set(name, [...(byName.get(name) ?? []), ...values]);
    }
  const found = Array.from(byName, ([name, values]) => [name, values.length === 1 ? values[0] : values] as const);
  return Object.fromEntries(found.filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

/** Returns the text of an AttributeValue. Returns undefined if the value contains elements. */
function textIn(value: unknown): string | undefined {
  const text = typeof value === 'object' && value !== null ? textAlone(value as Element) : value;
  return typeof text === 'string' ? text : undefined;
}

function textAlone({ $: _attributes, _: text, ...elements }: Element): unknown {
  return Object.keys(elements).length === 0 ? text : undefined;
}

type Element = Record<string, unknown>;

/**
 * Returns the SubjectConfirmationData attributes of every bearer confirmation in the signed assertion (SAML profiles, section 4.1.4.2), as parsed by
 * node-saml.
 */
function bearersOf(parsed: Element | undefined): Element[] {
  const assertion = first(parsed?.['Assertion']) ?? {};
  const subject = first(assertion['Subject']) ?? {};
  return listOf(subject['SubjectConfirmation'])
    .filter(({ $: own }) => (own as Element | undefined)?.['Method'] === BEARER)
    .flatMap((confirmation) => listOf(confirmation['SubjectConfirmationData']))
    .map((data) => (data['$'] ?? {}) as Element);
}

/** Reports whether a confirmation is valid now. One confirmation must meet all conditions, whereas node-saml accepts valid times in any confirmation. */
function isOfNow({ NotBefore: from, NotOnOrAfter: until }: Element): boolean {
  const now = Date.now();
  return (from === undefined || timeOf(from) <= now + SKEW_MS) && timeOf(until) > now - SKEW_MS;
}

/** Returns milliseconds since 1970. Returns NaN for an invalid time; NaN compares as neither before nor after any time. */
function timeOf(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : NaN;
}

function listOf(value: unknown): Element[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is Element => typeof item === 'object' && item !== null);
}

function first(value: unknown): Element | undefined {
  return listOf(value)[0];
}

function unreadable(): Problem {
  const limits = `${MAX_ELEMENTS} elements, ${MAX_DEPTH} levels or ${MAX_DOCUMENT_BYTES / 1024} kB`;
  const detail = `The identity provider did not return a valid SAML response, or the response contains a DTD, comment, processing instruction or unsupported algorithm, or exceeds ${limits}.`;
  return new Problem('unauthenticated', 'sso.refused', detail);
}
