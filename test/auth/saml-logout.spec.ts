import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, me } from './people.js';
import { fieldIn, postResponse, putProvider, redeem, responseFrom, ticketIn } from './saml-calls.js';

const ADA = { uid: 'ada', email: 'ada@saml.example', groups: ['release'] };
const RSA = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

let stage: Stage;
let service: Service;
let apiKey: string;
let idp: SamlPeer;

const here = (name: string) => `${service.url}/api/auth/saml/${name}`;
const put = (change: object = {}) =>
  putProvider(service, idp, apiKey, { logoutUrl: idp.logoutUrl, signRequests: true, ...change });

async function metadata(): Promise<string> {
  return (await service.call('GET', '/api/auth/saml/metadata')).body;
}

/** Registers the service at the provider with the service's metadata. From then on, the provider requires signatures. */
async function describeService(binding: 'HTTP-Redirect' | 'HTTP-POST' = 'HTTP-Redirect'): Promise<void> {
  const certificate = /<ds:X509Certificate>([^<]+)</.exec(await metadata())?.[1] ?? '';
  const logout = { url: here('logout'), binding, certificate };
  idp.describe({ entityId: here('metadata'), acsUrl: here('callback'), logout });
}

async function signIn(browser = new Browser()): Promise<{ browser: Browser; token: string; session: string }> {
  const response = await responseFrom(browser, 'ada', here('login'));
  const { body } = await redeem(service, browser, ticketIn(await postResponse(service, response)));
  const token = body['access_token'] ?? '';
  const { session } = (await me(service, token)).body;
  const rows = await stage.sql<{ name: string }>(`SELECT external_session AS name FROM auth_session WHERE id = $1`, [
    session,
  ]);
  return { browser, token, session: rows[0]?.name ?? '' };
}

const statusOf = async ({ token }: { token: string }) => (await me(service, token)).status;
const over = (person: { token: string }) =>
  until('the session is over', 5, async () => (await statusOf(person)) === 401);

interface Wrong {
  readonly issuer?: string;
  readonly destination?: string;
  readonly issued?: number;
  readonly until?: number | string;
  readonly name?: string;
  readonly extra?: string;
}

const PROTOCOL =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';
const time = (offset: number) => new Date(Date.now() + offset).toISOString();
const newId = () => `_${randomBytes(16).toString('hex')}`;

function request(session: string, wrong: Wrong = {}): string {
  const { issuer = idp.entityId, destination = here('logout'), issued = 0, until: end = 60_000 } = wrong;
  const limit = typeof end === 'number' ? time(end) : end;
  return (
    `<samlp:LogoutRequest ${PROTOCOL} ID="${newId()}" Version="2.0" IssueInstant="${time(issued)}" Destination="${destination}" NotOnOrAfter="${limit}">` +
    `<saml:Issuer>${issuer}</saml:Issuer><saml:NameID>${wrong.name ?? 'ada'}</saml:NameID>${wrong.extra ?? ''}` +
    `<samlp:SessionIndex>${session}</samlp:SessionIndex></samlp:LogoutRequest>`
  );
}

const response = (inResponseTo: string) =>
  `<samlp:LogoutResponse ${PROTOCOL} ID="${newId()}" Version="2.0" IssueInstant="${time(0)}" Destination="${here('logout')}" InResponseTo="${inResponseTo}">` +
  `<saml:Issuer>${idp.entityId}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status></samlp:LogoutResponse>`;

/** Returns the query string of the HTTP-Redirect binding, signed with the provider's key. */
function query(
  xml: string,
  { key, algorithm = RSA, hash = 'sha256' }: { key?: KeyObject; algorithm?: string; hash?: string } = {},
) {
  const field = xml.includes('LogoutRequest') ? 'SAMLRequest' : 'SAMLResponse';
  const message = encodeURIComponent(deflateRawSync(xml).toString('base64'));
  const text = `${field}=${message}&RelayState=r&SigAlg=${encodeURIComponent(algorithm)}`;
  const signature = sign(hash, Buffer.from(text), key ?? createPrivateKey(idp.privateKey)).toString('base64');
  return `${text}&Signature=${encodeURIComponent(signature)}`;
}

const take = (text: string) => service.call('GET', `/api/auth/saml/logout?${text}`);
const REFUSED = { status: 400, code: 'sso.logout-message' };

describe.skipIf(SIMPLESAMLPHP === undefined)('single logout with SimpleSAMLphp', () => {
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ role: 'api', settings: await atKnownAddress() });
    idp = new SamlPeer();
    await idp.start({ entityId: here('metadata'), acsUrl: here('callback') }, [ADA]);
    expect((await put()).status).toBe(200);
    await describeService();
  });
  afterAll(async () => {
    await stage.close();
    idp.stop();
  });

  it('publishes metadata with the key, the endpoints and the signing requirement of the service', async () => {
    const text = await metadata();
    expect(text).toContain('AuthnRequestsSigned="true"');
    for (const binding of ['HTTP-Redirect', 'HTTP-POST']) {
      const place = `Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${here('logout')}"`;
      expect(text).toContain(`<md:SingleLogoutService ${place}/>`);
    }
    const { settings } = (await put()).body;
    expect(settings.ourCertificate.replaceAll(/-----[A-Z ]+-----|\s/g, '')).toBe(
      /<ds:X509Certificate>([^<]+)</.exec(text)?.[1],
    );
    expect(JSON.stringify(settings)).not.toContain('PRIVATE KEY');
  });

  it('sends a signed request, because the provider rejects unsigned ones', async () => {
    expect(await statusOf(await signIn())).toBe(200);
    await put({ signRequests: false });
    await expect(signIn()).rejects.toThrow('no SAMLResponse');
    // A signature made with a different key is also rejected.
    await put({ newKey: true });
    await expect(signIn()).rejects.toThrow('no SAMLResponse');
    await describeService();
    expect(await statusOf(await signIn())).toBe(200);
  });

  it('started here ends the session at the provider too, and its response is accepted once', async () => {
    const person = await signIn();
    const { body } = await service.call('POST', '/api/auth/sso/logout', { key: person.token });
    expect(body.redirect.startsWith(`${idp.logoutUrl}?SAMLRequest=`)).toBe(true);
    await over(person);
    const back = await person.browser.follow(body.redirect, (url) => url.startsWith(here('logout')));
    expect(new URL(back.url).searchParams.has('SAMLResponse')).toBe(true);
    const answers = await Promise.all([1, 2, 3].map(() => take(new URL(back.url).search.slice(1))));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400, 400]);
    expect(answers.find(({ status }) => status === 303)?.headers.get('location')).toBe('/');
    const again = await (await person.browser.follow(here('login'))).response.text();
    expect(again).toContain('name="password"');
  });

  it('started at the provider ends that session only, and the provider receives a response', async () => {
    const [gone, stays] = [await signIn(), await signIn()];
    const asked = await gone.browser.follow(idp.signOutPage, (url) => url.startsWith(here('logout')));
    expect(new URL(asked.url).searchParams.has('SAMLRequest')).toBe(true);
    const end = await gone.browser.follow(asked.url);
    expect([end.url, end.response.status]).toEqual([idp.entityId, 200]);
    await over(gone);
    expect(await statusOf(stays)).toBe(200);
    const replayed = await take(new URL(asked.url).search.slice(1));
    expect({ status: replayed.status, code: replayed.body.code }).toEqual(REFUSED);
  });

  it('started at the provider by HTTP-POST ends the session, unless the form was modified, unsigned or wrapped', async () => {
    await describeService('HTTP-POST');
    const person = await signIn();
    const page = await (await person.browser.follow(idp.signOutPage)).response.text();
    const [encoded, relayState] = [fieldIn(page, 'SAMLRequest'), fieldIn(page, 'RelayState')];
    const xml = Buffer.from(encoded, 'base64').toString('utf8');
    const post = (text: string) =>
      new Browser().postForm(here('logout'), {
        SAMLRequest: Buffer.from(text).toString('base64'),
        RelayState: relayState,
      });
    const signature = /<ds:Signature[\s\S]*<\/ds:Signature>/.exec(xml)?.[0] ?? '';
    const outer = xml.replace(/ ID="[^"]*"/, ` ID="${newId()}"`).replace(signature, '');
    for (const wrong of [
      xml.replace(/(<saml:NameID[^>]*>)ada/, '$1eve'),
      xml.replace(signature, ''),
      `<!DOCTYPE x>${xml}`,
      outer.replace('<saml:NameID', `<samlp:Extensions>${xml}</samlp:Extensions><saml:NameID`),
      outer.replace('<saml:NameID', `${signature}<saml:NameID`),
    ]) {
      expect(wrong).not.toBe(xml);
      expect((await post(wrong)).status).toBe(400);
    }
    expect(await statusOf(person)).toBe(200);
    const taken = await post(xml);
    expect(taken.status).toBe(303);
    const end = await person.browser.follow(taken.headers.get('location') ?? '');
    expect([end.url, end.response.status]).toEqual([idp.entityId, 200]);
    await over(person);
    expect((await post(xml)).status).toBe(400);
    await describeService();
  });

  it('is rejected for every kind of invalid message', async () => {
    const person = await signIn();
    const good = (wrong?: Wrong) => query(request(person.session, wrong));
    const sha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1';
    const bomb = deflateRawSync(Buffer.alloc(8 * 1024 * 1024, ' ')).toString('base64');
    const wrong: [string, string][] = [
      ['nothing', ''],
      ['no message', 'SAMLRequest=%%%&Signature=AA'],
      ['a bomb', good().replace(/SAMLRequest=[^&]*/, `SAMLRequest=${encodeURIComponent(bomb)}`)],
      ['no signature', good().replace(/&Signature=.*/, '')],
      ['no algorithm', good().replace(/&SigAlg=[^&]*/, '')],
      [
        'another key',
        query(request(person.session), { key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey }),
      ],
      ['SHA-1', query(request(person.session), { algorithm: sha1, hash: 'sha1' })],
      ['another RelayState', good().replace('RelayState=r', 'RelayState=s')],
      ['the signature of another', good().replace(/SAMLRequest=[^&]*/, good().split('&', 1)[0] ?? '')],
      ['another Issuer', good({ issuer: 'https://elsewhere.example' })],
      ['another Destination', good({ destination: 'https://elsewhere.example/slo' })],
      ['over', good({ until: -120_000 })],
      ['no time', good({ until: 'never' })],
      ['old', good({ issued: -3600_000 })],
      ['of tomorrow', good({ issued: 24 * 3600_000 })],
      ['nobody', good({ name: '' })],
      ['two names', good({ extra: '<saml:NameID>eve</saml:NameID>' })],
      ['a comment in the name', good({ name: 'a<!-- -->da' })],
      ['no request', query(response(newId()))],
    ];
    for (const [what, text] of wrong) {
      const { status, body } = await take(text);
      expect([what, status, body.code]).toEqual([what, REFUSED.status, REFUSED.code]);
    }
    expect((await take(`${good()}&RelayState=r`)).body.code).toBe('request.invalid');
    expect(await statusOf(person)).toBe(200);
    const taken = await take(good());
    expect(taken.status).toBe(303);
    const answer = new URL(taken.headers.get('location') ?? '').searchParams;
    expect(answer.get('RelayState')).toBe('r');
    const xml = inflateRawSync(Buffer.from(answer.get('SAMLResponse') ?? '', 'base64')).toString();
    expect(xml).toContain('status:Success');
    await over(person);
  });
});
