import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, me, PEERS_HERE } from './people.js';

const peer = new OpenIdPeer();
let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  const { apiKey } = await stage.seed();
  service = await stage.start({ role: 'api', settings: { ...(await atKnownAddress()), ...PEERS_HERE } });
  await peer.start(`${service.url}/api/auth/oidc/callback/main`);
  const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] }];
  const body = {
    label: 'x',
    enabled: true,
    rules,
    issuer: peer.issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
  };
  const put = await service.call('PUT', '/api/settings/identity-providers/oidc/main', { key: apiKey, body });
  expect(put.status).toBe(200);
  peer.accounts.set('chief', { email: 'chief@example.org', groups: ['release'] });
});
afterAll(async () => {
  await stage.close();
  await peer.stop();
});

/** Signs in through the provider's pages and returns the resulting account. */
async function signedIn(account: string): Promise<{ id: string; scopes: string[] }> {
  const browser = new Browser();
  const isBack = (url: string) => url.startsWith(`${service.url}/console`);
  let place = (await browser.follow(`${service.url}/api/auth/oidc/login?provider=main&returnTo=/console`, isBack)).url;
  for (let page = 0; page < 5 && !isBack(place); page += 1) {
    const html = await (await browser.request(place)).text();
    const action = /action="([^"]+)"/.exec(html)?.[1] ?? '';
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? 'login';
    const posted = await browser.postForm(new URL(action, place).href, { prompt, login: account, password: 'any' });
    place = (await browser.follow(new URL(posted.headers.get('location') ?? '', place).href, isBack)).url;
  }
  const ticket = /#ticket=(\w+)$/.exec(place)?.[1];
  const answer = await browser.request(`${service.url}/api/auth/sso/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  return (await me(service, ((await answer.json()) as { access_token: string }).access_token)).body;
}

it('a provider removes every role, except that of the last administrator', async () => {
  const { id } = await signedIn('chief');
  const others = await stage.change<{ id: string }>(
    `UPDATE user_account SET disabled = true WHERE 'admin' = ANY(roles) AND NOT disabled RETURNING id`,
  );
  await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE id = $1`, [id]);
  expect((await signedIn('chief')).scopes).toEqual(expect.arrayContaining(['admin:*', 'sign:digest']));
  const [entry] = await stage.sql<{ kept: string }>(
    `SELECT detail ->> 'kept' AS kept FROM audit_entry WHERE action = 'user.roles-from-provider' AND target_id = $1 ORDER BY id DESC LIMIT 1`,
    [id],
  );
  expect(entry?.kept).toBe('last-administrator');
  // Once another administrator exists, the provider's roles apply.
  await stage.change(`UPDATE user_account SET disabled = false WHERE id = ANY($1)`, [others.map((other) => other.id)]);
  expect((await signedIn('chief')).scopes).not.toContain('admin:*');
});
