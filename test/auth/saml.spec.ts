import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SamlAccount, SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import { ROLES } from '../../src/access/scopes.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { atKnownAddress, me } from './people.js';
import { postResponse, putProvider, redeem as redeemAt, responseFrom, ticketIn } from './saml-calls.js';
import { selfSigned } from '../support/openssl.js';

const ACCOUNTS: SamlAccount[] = [
  { uid: 'ada', email: 'ada@saml.example', groups: ['staff', 'release'] },
  { uid: 'eve', email: 'eve@saml.example', groups: ['strangers'] },
];

let stage: Stage;
let service: Service;
let other: Service;
let apiKey: string;
let idp: SamlPeer;

const put = (change: object = {}) => putProvider(service, idp, apiKey, change);
const responseFor = (browser: Browser, account: string) =>
  responseFrom(browser, account, `${service.url}/api/auth/saml/login?returnTo=/console`);
const post = (encoded: string, to = service) => postResponse(to, encoded);
const redeem = (browser: Browser, ticket: string) => redeemAt(service, browser, ticket);

/** Posts a new SAML response that `change` has modified. */
async function changed(change: (xml: string) => string): Promise<Response> {
  const browser = new Browser();
  const xml = Buffer.from(await responseFor(browser, 'ada'), 'base64').toString('utf8');
  const next = change(xml);
  expect(next).not.toBe(xml);
  return post(Buffer.from(next).toString('base64'));
}

async function assertRefused(answer: Response, code = 'sso.refused'): Promise<void> {
  const body = (await answer.json()) as { code: string };
  expect({ status: answer.status, code: body.code }).toEqual({ status: 401, code });
}

describe.skipIf(SIMPLESAMLPHP === undefined)('SAML with SimpleSAMLphp on another site', () => {
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    const settings = await atKnownAddress();
    service = await stage.start({ role: 'api', settings });
    const { SVC_PUBLIC_URL } = settings;
    other = await stage.start({ role: 'api', settings: { SVC_PUBLIC_URL: SVC_PUBLIC_URL ?? '' } });
    idp = new SamlPeer();
    const [entityId, acsUrl] = ['metadata', 'callback'].map((name) => `${service.url}/api/auth/saml/${name}`);
    await idp.start({ entityId: entityId ?? '', acsUrl: acsUrl ?? '' }, ACCOUNTS);
    expect((await put()).status).toBe(200);
  });
  afterAll(async () => {
    await stage.close();
    idp.stop();
  });

  it('creates an account on first sign-in, with roles derived from groups', async () => {
    const browser = new Browser();
    const arrived = await post(await responseFor(browser, 'ada'));
    expect(arrived.status).toBe(303);
    expect(arrived.headers.get('location')).toMatch(/^\/api\/auth\/sso\/complete\?ticket=/);
    const { status, body } = await redeem(browser, ticketIn(arrived));
    expect(status).toBe(200);
    const who = await me(service, body['access_token'] ?? '');
    expect(who.body).toMatchObject({ kind: 'user', name: 'ada@saml.example' });
    expect(who.body.scopes).toContain('sign:digest');
  });

  it('ends a device session when the provider ends the session of the person who approved it', async () => {
    const browser = new Browser();
    const arrived = await post(await responseFor(browser, 'ada'));
    const key = (await redeem(browser, ticketIn(arrived))).body['access_token'] ?? '';
    const client = await makeClient(service, apiKey, ['audit:read'], 'public');
    const { body: device } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
    await service.call('POST', `/api/auth/device/${device.user_code}/approve`, { key });
    expect((await postForm(service, '/oauth/token', deviceGrant(client, device.device_code))).status).toBe(200);
    const [ends] = await stage.sql<{ person: Date; device: Date; stated: Date }>(
      `SELECT p.expires_at AS person, p.provider_end AS stated, d.expires_at AS device FROM auth_session d
       JOIN auth_session p ON p.user_id = d.user_id AND p.way = 'saml' WHERE d.way = 'device' ORDER BY p.created_at DESC LIMIT 1`,
    );
    expect(ends?.stated).toEqual(ends?.person);
    expect(ends?.device).toEqual(ends?.person);
  });

  it('refuses sign-in if no rule matches', async () => {
    const arrived = await post(await responseFor(new Browser(), 'eve'));
    expect(((await arrived.json()) as { code: string }).code).toBe('sso.no-role');
  });

  it('accepts one of ten concurrent replays to two processes, and none later', async () => {
    const browser = new Browser();
    const response = await responseFor(browser, 'ada');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => post(response, i % 2 === 0 ? service : other)),
    );
    const tickets = answers.filter(({ status }) => status === 303).map(ticketIn);
    expect(tickets).toHaveLength(1);
    await assertRefused(await post(response), 'sso.unknown');
    expect((await redeem(browser, tickets[0] ?? '')).status).toBe(200);
  });

  it('cannot sign somebody in as another person: the ticket is unusable in the browser of the victim', async () => {
    const attacker = new Browser();
    const ticket = ticketIn(await post(await responseFor(attacker, 'ada')));
    const victim = new Browser();
    await victim.request(`${service.url}/api/auth/saml/login`);
    expect((await redeem(victim, ticket)).body['code']).toBe('sso.unknown');
  });

  it('redirects only the browser that started to the page with the ticket', async () => {
    const complete = (at: Browser, ticket: string) =>
      at.request(`${service.url}/api/auth/sso/complete?ticket=${ticket}`);
    const beginner = new Browser();
    const ticket = ticketIn(await post(await responseFor(beginner, 'ada')));
    expect((await complete(beginner, ticket)).headers.get('location')).toBe(`/console#ticket=${ticket}`);
    expect((await redeem(beginner, ticket)).status).toBe(200);

    // An attacker began the sign-in and had the victim authenticate at the provider.
    const stolen = ticketIn(await post(await responseFor(beginner, 'ada')));
    await assertRefused(await complete(new Browser(), stolen), 'sso.unknown');
    expect((await redeem(beginner, stolen)).body['code']).toBe('sso.unknown');
  });

  it('rejects an unsolicited response', async () => {
    const strip = (xml: string) => xml.replaceAll(/ InResponseTo="[^"]*"/g, '');
    await assertRefused(await changed(strip), 'sso.unknown');
    await assertRefused(
      await changed((xml) =>
        xml.replaceAll(/InResponseTo="[^"]*"/g, `InResponseTo="_${randomBytes(20).toString('hex')}"`),
      ),
      'sso.unknown',
    );
  });

  it.each<[string, (xml: string) => string]>([
    ['another group', (xml) => xml.replace('>staff<', '>admins<')],
    ['another NameID', (xml) => xml.replace(/(<saml:NameID[^>]*>)ada/, '$1eve')],
    ['no signatures', (xml) => xml.replaceAll(/<ds:Signature[\s\S]*?<\/ds:Signature>/g, '')],
    ['another Destination', (xml) => xml.replace(/Destination="[^"]*"/, 'Destination="https://elsewhere.example/acs"')],
    ['a document type', (xml) => `<!DOCTYPE x [<!ENTITY e "v">]>${xml}`],
    ['a comment inside the NameID', (xml) => xml.replace('>ada<', '>a<!---->da<')],
    ['a processing instruction', (xml) => `<?x y?>${xml}`],
    [
      'an XSLT transform',
      (xml) =>
        xml.replace(
          'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
          'http://www.w3.org/TR/1999/REC-xslt-19991116',
        ),
    ],
    ['two roots', (xml) => xml + xml],
    ['an assertion wrapped around the signed one', wrapped],
    ['a forged assertion before the signed one', beside],
  ])('rejects a response with %s', async (_, change) => {
    await assertRefused(await changed(change));
  });

  it('counts neither a post in the background of another page nor an accepted response toward the limit of a network', async () => {
    const response = await responseFor(new Browser(), 'ada');
    await stage.change('DELETE FROM attempt_count');
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-dest': 'empty' };
    for (const name of ['callback', 'logout']) {
      const sent = await service.call('POST', `/api/auth/saml/${name}`, { headers, body: 'SAMLResponse=x' });
      assertProblem(sent, { status: 403, code: 'auth.cross-site' });
    }
    expect(await stage.sql('SELECT FROM attempt_count')).toEqual([]);
    expect((await post(response)).status).toBe(303);
    expect(await stage.sql('SELECT FROM attempt_count')).toEqual([]);
  });

  it('rejects an oversized response', async () => {
    const browser = new Browser();
    const response = await responseFor(browser, 'ada');
    expect((await post(`${response}${' '.repeat(300_000)}`)).status).toBe(413);
  });

  it('rejects input that is not a response', async () => {
    for (const text of ['', 'nonsense', '%%%', Buffer.from('<a/>').toString('base64')])
      await assertRefused(await post(text));
  });

  it('rejects a valid response of a provider that is not configured', async () => {
    const response = await responseFor(new Browser(), 'ada');
    const isCalled = (entityId: string) =>
      stage.change(`UPDATE identity_provider SET settings = settings || $1`, [{ entityId }]);
    await isCalled('https://elsewhere.example/idp');
    await assertRefused(await post(response));
    await isCalled(idp.entityId);
    expect((await post(response)).status).toBe(303);
  });

  it('rejects a response for another URL of the same service: Destination and Recipient', async () => {
    const [entityId = '', acsUrl = ''] = ['metadata', 'callback'].map((name) => `${service.url}/api/auth/saml/${name}`);
    idp.describe({ entityId, acsUrl: 'https://elsewhere.example/acs' });
    const elsewhere = await responseFor(new Browser(), 'ada');
    const xml = Buffer.from(elsewhere, 'base64').toString('utf8');
    expect(xml.includes('Recipient="https://elsewhere.example/acs"')).toBe(true);
    await assertRefused(await post(elsewhere));
    // Moves the unchanged signed assertion to a response whose Destination is the service's address.
    const moved = xml.replace(/Destination="[^"]*"/, `Destination="${acsUrl}"`);
    await assertRefused(await post(Buffer.from(moved).toString('base64')));
    idp.describe({ entityId, acsUrl });
    expect((await post(await responseFor(new Browser(), 'ada'))).status).toBe(303);
  });

  it('rejects a valid signature with SHA-1', async () => {
    const [entityId = '', acsUrl = ''] = ['metadata', 'callback'].map((name) => `${service.url}/api/auth/saml/${name}`);
    idp.describe({ entityId, acsUrl }, 'http://www.w3.org/2000/09/xmldsig#rsa-sha1');
    const response = await responseFor(new Browser(), 'ada');
    expect(Buffer.from(response, 'base64').toString('utf8').includes('xmldsig#rsa-sha1')).toBe(true);
    await assertRefused(await post(response));
    idp.describe({ entityId, acsUrl });
  });

  it('rejects a signature with an unknown key, and accepts two keys during a key rollover', async () => {
    const stranger = selfSigned();
    await put({ certificates: [stranger] });
    await assertRefused(await post(await responseFor(new Browser(), 'ada')));
    await put({ certificates: [stranger, idp.certificate] });
    expect((await post(await responseFor(new Browser(), 'ada'))).status).toBe(303);
    await put();
  });

  it('rejects a certificate set by a person with fewer rights than the users they could impersonate', async () => {
    expect((await post(await responseFor(new Browser(), 'ada'))).status).toBe(303);
    const rules = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['viewer'] }];
    const { key } = await newApiKey(service, apiKey, ['settings:write', ...ROLES.viewer]);
    const theirs = { rules, certificates: [idp.certificate, selfSigned()] };
    const answer = await putProvider(service, idp, key, theirs);
    expect(answer).toMatchObject({ status: 403, body: { code: 'user.beyond-caller' } });
    expect((await putProvider(service, idp, key, { rules })).status).toBe(200);
    await put();
  });

  it('ends sessions with the certificate that admitted them, but not when one is added', async () => {
    const browser = new Browser();
    const token =
      (await redeem(browser, ticketIn(await post(await responseFor(browser, 'ada'))))).body['access_token'] ?? '';
    const added = selfSigned();
    await put({ certificates: [idp.certificate, added] });
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect((await me(other, token)).status).toBe(200);
    await put({ certificates: [added] });
    await until('the session is over', 6, async () => (await me(other, token)).status === 401);
    await put();
  });

  it('ends everywhere within five seconds once the provider is deleted', async () => {
    const browser = new Browser();
    const token =
      (await redeem(browser, ticketIn(await post(await responseFor(browser, 'ada'))))).body['access_token'] ?? '';
    expect((await me(other, token)).status).toBe(200);
    await service.call('DELETE', '/api/settings/identity-providers/main', { key: apiKey });
    await until('the session is over', 5, async () => (await me(other, token)).status === 401);
    await put();
  });

  it('publishes metadata for the provider', async () => {
    const { body, status } = await service.call('GET', '/api/auth/saml/metadata');
    expect(status).toBe(200);
    expect(body).toContain(`Location="${service.url}/api/auth/saml/callback"`);
    expect(body).toContain('WantAssertionsSigned="true"');
  });
});

const ASSERTION = /<saml:Assertion[\s\S]*<\/saml:Assertion>/;
const forged = (assertion: string) =>
  assertion
    .replaceAll(/<ds:Signature[\s\S]*?<\/ds:Signature>/g, '')
    .replace(/ ID="[^"]*"/, ' ID="_forged"')
    .replace('>ada<', '>root<')
    .replace('>staff<', '>admins<');

/** Performs XML signature wrapping: the forged assertion is in the expected position and contains the signed assertion. */
function wrapped(xml: string): string {
  const [assertion = ''] = ASSERTION.exec(xml) ?? [];
  const outer = forged(assertion).replace(
    '</saml:Assertion>',
    `<saml:Advice>${assertion}</saml:Advice></saml:Assertion>`,
  );
  return xml.replace(assertion, outer);
}

function beside(xml: string): string {
  const [assertion = ''] = ASSERTION.exec(xml) ?? [];
  return xml.replace(assertion, forged(assertion) + assertion);
}
