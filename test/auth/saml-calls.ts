import type { SamlPeer } from '../fakes/simplesamlphp.js';
import type { Answer, Service } from '../support/service.js';
import { Browser } from './browser.js';

/** Stores SimpleSAMLphp as the provider `main`; `change` overrides fields of the request. */
export function putProvider(service: Service, idp: SamlPeer, key: string, change: object = {}): Promise<Answer> {
  const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];
  const { entityId, entryPoint, certificate } = idp;
  const body = { label: 'Sign in with SimpleSAMLphp', enabled: true, rules, entityId, entryPoint };
  return service.call('PUT', '/api/settings/identity-providers/saml/main', {
    key,
    body: { ...body, certificates: [certificate], ...change },
  });
}

/** Signs in at the provider, starting at `begin`. @returns the SAML response that the browser would post next */
export async function responseFrom(browser: Browser, account: string, begin: string): Promise<string> {
  const page = await browser.follow(begin);
  let html = await page.response.text();
  if (html.includes('name="password"')) {
    const state = unescaped(/name="AuthState" value="([^"]+)"/.exec(html)?.[1] ?? '');
    const posted = await browser.postForm(page.url, { username: account, password: account, AuthState: state });
    const next = posted.headers.get('location');
    html =
      next === null ? await posted.text() : await (await browser.follow(new URL(next, page.url).href)).response.text();
  }
  return fieldIn(html, 'SAMLResponse');
}

/** Returns the value of a hidden form field. */
export function fieldIn(html: string, name: string): string {
  const found = new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1];
  if (found === undefined) throw new Error(`no ${name} in: ${html.slice(0, 2000)}`);
  return unescaped(found);
}

const unescaped = (text: string) =>
  text.replaceAll('&amp;', '&').replaceAll('&#x2F;', '/').replaceAll('&#x3D;', '=').replaceAll('&quot;', '"');

/** Posts like a browser coming from another site: without the service's cookie, which is SameSite=Lax. */
export const postResponse = (service: Service, encoded: string): Promise<Response> =>
  new Browser().postForm(`${service.url}/api/auth/saml/callback`, { SAMLResponse: encoded });

/** Returns the ticket in the URL at which the browser completes the sign-in. */
export const ticketIn = (response: Response): string =>
  /\?ticket=(\w+)$/.exec(response.headers.get('location') ?? '')?.[1] ?? '';

export async function redeem(service: Service, browser: Browser, ticket: string) {
  const response = await browser.request(`${service.url}/api/auth/sso/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}
