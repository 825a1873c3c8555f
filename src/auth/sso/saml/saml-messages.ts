import { createPrivateKey, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';

const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** NameID as received. A logout request must repeat the NameID exactly. */
export interface NameId {
  readonly name: string;
  readonly format?: string | undefined;
  readonly qualifier?: string | undefined;
  readonly spQualifier?: string | undefined;
}

interface Envelope {
  readonly id: string;
  readonly issuer: string;
  readonly destination: string;
}

/** Returns a LogoutRequest (SAML core section 3.7.1). */
export function logoutRequest(envelope: Envelope, who: NameId, sessionIndex: string | null): string {
  const attributes = [
    ['Format', who.format],
    ['NameQualifier', who.qualifier],
    ['SPNameQualifier', who.spQualifier],
  ].flatMap(([name, value]) => (value === undefined ? [] : [` ${name}="${escaped(value)}"`]));
  const until = new Date(Date.now() + 5 * 60_000).toISOString();
  const index = sessionIndex === null ? '' : `<samlp:SessionIndex>${escaped(sessionIndex)}</samlp:SessionIndex>`;
  const subject = `<saml:NameID${attributes.join('')}>${escaped(who.name)}</saml:NameID>${index}`;
  return message('LogoutRequest', envelope, ` NotOnOrAfter="${until}"`, subject);
}

/** Returns a LogoutResponse with status success (SAML core section 3.7.2). */
export function logoutResponse(envelope: Envelope, inResponseTo: string): string {
  const status = '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>';
  return message('LogoutResponse', envelope, ` InResponseTo="${escaped(inResponseTo)}"`, status);
}

/** Returns the URL for the browser with a signed message (HTTP-Redirect binding, SAML bindings section 3.4.4). */
export function signedRedirect(
  destination: string,
  field: 'SAMLRequest' | 'SAMLResponse',
  { xml, relayState, privateKey }: { xml: string; relayState?: string | undefined; privateKey: string },
): string {
  const query = [
    `${field}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`,
    ...(relayState === undefined ? [] : [`RelayState=${encodeURIComponent(relayState)}`]),
    `SigAlg=${encodeURIComponent(RSA_SHA256)}`,
  ].join('&');
  const signature = sign('sha256', Buffer.from(query), createPrivateKey(privateKey)).toString('base64');
  const separator = new URL(destination).search === '' ? '?' : '&';
  return `${destination}${separator}${query}&Signature=${encodeURIComponent(signature)}`;
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function message(name: string, { id, issuer, destination }: Envelope, attributes: string, content: string): string {
  return (
    `<samlp:${name} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"` +
    ` ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${escaped(destination)}"${attributes}>` +
    `<saml:Issuer>${escaped(issuer)}</saml:Issuer>${content}</samlp:${name}>`
  );
}
