import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Browser } from '../auth/browser.js';
import { atKnownAddress, me, PEERS_HERE } from '../auth/people.js';
import { CLIENT, OpenIdPeer } from '../fakes/openid-provider.js';
import { assertProblem } from '../support/refused-calls.js';
import { createKey, digestOf } from '../support/signing.js';
import { openStage } from '../support/stage.js';
import { held, type ApprovalFixture, unique, vote } from './approvers.js';

const PROVIDERS = ['ours', 'theirs'] as const;
type ProviderName = (typeof PROVIDERS)[number];

const peers = { ours: new OpenIdPeer(), theirs: new OpenIdPeer() };
let place: ApprovalFixture;
let key: string;
let sharedKey: string;

beforeAll(async () => {
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  place = { stage, apiKey, service: await stage.start({ settings: { ...(await atKnownAddress()), ...PEERS_HERE } }) };
  for (const name of PROVIDERS) {
    await peers[name].start(`${place.service.url}/api/auth/oidc/callback/${name}`);
    await put(name);
  }
  const ssoGroups = [{ provider: 'ours', group: 'release managers' }];
  const group = await call('POST', '/api/v1/approver-groups', { name: unique('group'), members: [], ssoGroups });
  expect(group.body.ssoGroups).toEqual(ssoGroups);
  key = await guardedBy(group.body.id, 1);
  sharedKey = await guardedBy(group.body.id, 2);
});
afterAll(async () => {
  await place.stage.close();
  await peers.ours.stop();
  await peers.theirs.stop();
});

const call = (method: string, path: string, body?: object) =>
  place.service.call(method, path, { key: place.apiKey, body });

async function put(name: ProviderName, change: object = {}): Promise<void> {
  const roles = { rules: [], defaultRoles: ['approver'] };
  const client = { clientId: CLIENT.id, clientSecret: CLIENT.secret, scopes: ['openid', 'profile', 'email'] };
  const body = { label: name, enabled: true, ...roles, issuer: peers[name].issuer, ...client, ...change };
  expect((await call('PUT', `/api/settings/identity-providers/oidc/${name}`, body)).status).toBe(200);
}

async function guardedBy(group: string, threshold: number): Promise<string> {
  const { name } = await createKey(place.service, place.apiKey, { name: unique('guarded'), type: 'ec-p256' });
  const stages = [{ group, threshold }];
  const policy = await call('POST', '/api/v1/approval-policies', { name: unique('policy'), keys: [name], stages });
  expect(policy.status).toBe(201);
  return name;
}

/** Signs in through the provider's actual pages and returns the access token. */
async function signIn(name: ProviderName, account: string, groups: string[]): Promise<string> {
  peers[name].accounts.set(account, { email: `${account}.${name}@example.org`, groups });
  const browser = new Browser();
  const isOurs = (url: string) => url.startsWith(`${place.service.url}/api/auth/oidc/callback`);
  let at = (await browser.follow(`${place.service.url}/api/auth/oidc/login?provider=${name}&returnTo=/console`)).url;
  for (let step = 0; step < 3 && !isOurs(at); step += 1) {
    const html = await (await browser.request(at)).text();
    const action = /action="([^"]+)"/.exec(html)?.[1] ?? '';
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? 'login';
    const posted = await browser.postForm(new URL(action, at).href, { prompt, login: account, password: 'any' });
    at = (await browser.follow(new URL(posted.headers.get('location') ?? '', at).href, isOurs)).url;
  }
  const arrived = await browser.request(at);
  const ticket = /#ticket=(\w+)$/.exec(arrived.headers.get('location') ?? '')?.[1] ?? '';
  const response = await browser.request(`${place.service.url}/api/auth/sso/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

const ask = () => held(place, { digest: digestOf(randomUUID()), key });

it('only people whom the provider lists as members of the group may approve', async () => {
  const { approvalId } = await ask();
  const outsider = await signIn('ours', 'olga', ['staff', 'release managers of elsewhere']);
  assertProblem(await vote(place.service, approvalId, { accessToken: outsider }), {
    status: 403,
    code: 'approval.not-approver',
  });
  const member = await signIn('ours', 'mia', ['staff', 'release managers']);
  const listed = await place.service.call('GET', '/api/v1/approvals?waiting=me', { key: member });
  expect(listed.body.items.map(({ id }: { id: string }) => id)).toEqual([approvalId]);
  expect((await vote(place.service, approvalId, { accessToken: member })).body.status).toBe('APPROVED');
});

it('a group of the same name at another provider is a different group', async () => {
  const { approvalId } = await ask();
  const namesake = await signIn('theirs', 'mia', ['release managers']);
  expect((await me(place.service, namesake)).status).toBe(200);
  const answer = await vote(place.service, approvalId, { accessToken: namesake });
  assertProblem(answer, { status: 403, code: 'approval.not-approver' });
});

it('a person whom the provider no longer lists loses membership in all sessions', async () => {
  const { approvalId } = await ask();
  const before = await signIn('ours', 'max', ['release managers']);
  const after = await signIn('ours', 'max', ['staff']);
  for (const session of [before, after]) {
    const answer = await vote(place.service, approvalId, { accessToken: session });
    assertProblem(answer, { status: 403, code: 'approval.not-approver' });
  }
});

const RULE = { claim: 'groups', op: 'equals', value: 'release managers', roles: ['approver'] };

it.each<[string, object[]]>([
  ['was disabled and enabled again', [{ enabled: false }, { rules: [RULE] }]],
  ['lost a rule', [{}]],
])('a vote does not count after the provider %s', async (_, changes) => {
  await put('ours', { rules: [RULE] });
  const { approvalId } = await held(place, { digest: digestOf(randomUUID()), key: sharedKey });
  const voteOf = async (name: string) => {
    const accessToken = await signIn('ours', name, ['release managers']);
    return (await vote(place.service, approvalId, { accessToken })).body.status;
  };
  expect(await voteOf('mia')).toBe('PENDING');
  for (const change of changes) await put('ours', change);
  expect(await voteOf('noa')).toBe('PENDING');
  expect(await voteOf('zoe')).toBe('APPROVED');
});
