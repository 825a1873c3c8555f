import { QUIRKY_CLIENT, QuirkyProvider } from '../fakes/quirky-openid-provider.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, PEERS_HERE } from './people.js';

export const RELEASE_RULE = { claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] };
export const CHIEFS_RULE = { claim: 'groups', op: 'equals', value: 'chiefs', roles: ['admin', 'approver'] };

export interface QuirkyStage {
  readonly stage: Stage;
  readonly service: Service;
  readonly apiKey: string;
  readonly adminEmail: string;
  readonly provider: QuirkyProvider;
  close(): Promise<void>;
}

/** Starts a service that browsers reach at its public address, and a provider that is not configured in the service yet. */
export async function openQuirkyStage(): Promise<QuirkyStage> {
  const stage = await openStage();
  const { apiKey, adminEmail } = await stage.seed();
  const service = await stage.start({ settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  const provider = await QuirkyProvider.start();
  const close = async () => {
    await stage.close();
    await provider.stop();
  };
  return { stage, service, apiKey, adminEmail, provider, close };
}

/** Sets the person who signs in next. The person has just authenticated at the provider. */
export function personAt(provider: QuirkyProvider, sub: string, groups: string[], claims: object = {}): void {
  const email = `${sub}@rights.example`;
  provider.is({ claims: { sub, email, groups, auth_time: Math.floor(Date.now() / 1000), ...claims } });
}

/** Stores a quirky provider under a name; `change` overrides fields of the request. */
export function putQuirky(
  service: Service,
  key: string,
  { name, provider, change = {} }: { name: string; provider: QuirkyProvider; change?: object },
): Promise<Answer> {
  const { id: clientId, secret: clientSecret } = QUIRKY_CLIENT;
  const body = { label: name, enabled: true, rules: [RELEASE_RULE], issuer: provider.origin, clientId, clientSecret };
  return service.call('PUT', `/api/settings/identity-providers/oidc/${name}`, { key, body: { ...body, ...change } });
}

export interface Arrival {
  readonly status: number;
  readonly location: string;
  readonly code: string;
  readonly detail: string;
}

/** Signs in at a quirky provider and returns the response from the service's callback. */
export async function arrive(
  service: Service,
  name: string,
  { browser = new Browser(), answer = 'ticket', begin }: { browser?: Browser; answer?: string; begin?: string } = {},
): Promise<Arrival> {
  const start = begin ?? `${service.url}/api/auth/oidc/login?provider=${name}&returnTo=/console&answer=${answer}`;
  const isOurs = (url: string) => url.startsWith(`${service.url}/api/auth/oidc/callback`);
  return arrivalOf(await browser.request((await browser.follow(start, isOurs)).url));
}

export async function arrivalOf(response: Response): Promise<Arrival> {
  const location = response.headers.get('location') ?? '';
  const text = await response.text();
  const { code = '', detail = '' } = (text.startsWith('{') ? JSON.parse(text) : {}) as {
    code?: string;
    detail?: string;
  };
  return { status: response.status, location, code, detail };
}

/** Exchanges the ticket in a redirect for tokens. */
export async function tokenFor(
  service: Service,
  browser: Browser,
  { location }: Arrival,
): Promise<Record<string, string>> {
  const ticket = /#ticket=(\w+)$/.exec(location)?.[1] ?? '';
  const response = await browser.request(`${service.url}/api/auth/sso/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  return (await response.json()) as Record<string, string>;
}

/** Signs in and returns the tokens. */
export async function signInAt(
  service: Service,
  name: string,
  browser = new Browser(),
): Promise<Record<string, string>> {
  return tokenFor(service, browser, await arrive(service, name, { browser }));
}
