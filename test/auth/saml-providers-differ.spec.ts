import 'reflect-metadata';
import { SAML } from '@node-saml/node-saml';
import { X509CertificateGenerator } from '@peculiar/x509';
import { execFileSync } from 'node:child_process';
import { webcrypto, X509Certificate } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SamlPeer, SIMPLESAMLPHP } from '../fakes/simplesamlphp.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { Browser } from './browser.js';
import { atKnownAddress, login as signInWithPassword, register } from './people.js';
import { postResponse, putProvider, responseFrom } from './saml-calls.js';
import { selfSigned } from '../support/openssl.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let idp: SamlPeer;
let sp: { entityId: string; acsUrl: string };

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: await atKnownAddress() });
  const [entityId = '', acsUrl = ''] = ['metadata', 'callback'].map((name) => `${service.url}/api/auth/saml/${name}`);
  sp = { entityId, acsUrl };
  idp = new SamlPeer();
  if (SIMPLESAMLPHP !== undefined)
    await idp.start(sp, [{ uid: 'ada', email: 'ada@saml.example', groups: ['staff', 'release'] }]);
  else idp.certificate = selfSigned();
});
afterAll(async () => {
  await stage.close();
  idp.stop();
});

const put = (change: object = {}) => putProvider(service, idp, apiKey, change);
const login = () => `${service.url}/api/auth/saml/login`;

async function signIn(): Promise<{ status: number; code: string }> {
  const answer = await postResponse(service, await responseFrom(new Browser(), 'ada', login()));
  if (answer.status === 303) return { status: 303, code: '' };
  return { status: answer.status, code: ((await answer.json()) as { code: string }).code };
}

async function testFinds(): Promise<{ ok: boolean; findings: { check: string; ok: boolean; detail: string }[] }> {
  return (await service.call('POST', '/api/settings/identity-providers/test/main', { key: apiKey })).body;
}

/** Reports whether the SAML library used at sign-in can parse the certificates. */
async function isUsable(certificates: string[]): Promise<boolean> {
  const saml = new SAML({ issuer: 'x', audience: 'x', callbackUrl: 'https://x.example/', idpCert: certificates });
  return (await saml['getKeyInfosAsPem']()).every((pem) => new X509Certificate(pem).publicKey.type === 'public');
}

const bare = (pem: string) => pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
const inLines = (text: string, length: number, end: string) =>
  (text.match(new RegExp(`.{1,${length}}`, 'g')) ?? []).join(end);

describe.skipIf(SIMPLESAMLPHP === undefined)('a provider certificate', () => {
  it.each<[string, (pem: string) => string[]]>([
    ['as it is', (pem) => [pem]],
    ['in bare base64', (pem) => [bare(pem)]],
    ['in base64 of lines of 76', (pem) => [`${inLines(bare(pem), 76, '\n')}\n`]],
    ['in base64 of lines of Windows', (pem) => [inLines(bare(pem), 64, '\r\n')]],
    ['with lines of Windows', (pem) => [pem.replaceAll('\n', '\r\n')]],
    ['with lines of an old Macintosh', (pem) => [pem.replaceAll('\n', '\r')]],
    ['on one long line', (pem) => [`-----BEGIN CERTIFICATE-----\n${bare(pem)}\n-----END CERTIFICATE-----`]],
    ['between empty lines and blanks', (pem) => [`\n\n${pem.replaceAll('\n', '  \n')}\n `]],
    ['with an older label', (pem) => [pem.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE')]],
    ['before another one in the same text', (pem) => [pem + selfSigned()]],
    ['behind another one in the same text', (pem) => [`${selfSigned()}\n${pem}`]],
    ['twice', (pem) => [pem, bare(pem)]],
  ])('%s is stored in the form used by test and sign-in', async (_, form) => {
    const { status, body } = await put({ certificates: form(idp.certificate) });
    expect(status).toBe(200);
    const stored = body.settings.certificates as string[];
    expect(stored.map((pem) => new X509Certificate(pem).fingerprint256)).toContain(
      new X509Certificate(idp.certificate).fingerprint256,
    );
    expect(new Set(stored).size).toBe(stored.length);
    expect(await isUsable(stored)).toBe(true);
    expect((await testFinds()).ok).toBe(true);
    expect((await signIn()).status).toBe(303);
  });

  const key = () => execFileSync('openssl', ['genrsa', '2048'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  it.each<[string, (pem: string) => string, RegExp]>([
    ['a private key', key, /private key/],
    ['a private key behind a certificate', (pem) => pem + key(), /private key/],
    ['an encrypted private key', () => key().replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'), /private key/],
    [
      'what openssl pkcs12 writes around it',
      (pem) => `Bag Attributes\n  localKeyID: 01\n${pem}`,
      /around the certificate/,
    ],
    ['words behind it', (pem) => `${pem}this is ours`, /after the certificate/],
    ['indented lines', (pem) => pem.replaceAll(/^/gm, '   '), /indented/],
    [
      'a request for a certificate',
      (pem) => pem.replaceAll(' CERTIFICATE', ' CERTIFICATE REQUEST'),
      /not a complete PEM certificate block/,
    ],
    ['half of it', (pem) => pem.slice(0, 500), /not a complete PEM certificate block/],
    [
      'another thing in base64',
      () => Buffer.from('no certificate at all'.repeat(5)).toString('base64'),
      /not an X\.509/,
    ],
    [
      'no base64',
      () => 'sixty-four characters of nothing, and a few more, to be sure of it.',
      /not a PEM or base64 certificate/,
    ],
    [
      'bytes behind it',
      (pem) => Buffer.concat([Buffer.from(bare(pem), 'base64'), Buffer.from('x')]).toString('base64'),
      /bytes after the certificate/,
    ],
    ['a key that signs no XML', () => selfSigned('-newkey', 'ed25519'), /ed25519/],
    ['nothing', () => ' ', /not a PEM or base64 certificate/],
  ])('%s is rejected with an explanation and a pointer', async (_, form, words) => {
    const text = form(idp.certificate);
    const answer = await put({ certificates: [idp.certificate, text] });
    assertProblem(answer, { status: 422, code: 'identity-provider.certificate', pointer: '/certificates/1' });
    expect(answer.body.detail).toMatch(words);
    // The input may contain a private key, so no part of the input may be returned or logged.
    const shown = service.log() + JSON.stringify(answer.body);
    expect(text.length > 140 && shown.includes(text.slice(-140, -40))).toBe(false);
  });

  it('may be one of several, up to a limit', async () => {
    const certificates = Array.from({ length: 11 }, () =>
      selfSigned('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'),
    ).join('');
    assertProblem(await put({ certificates: [certificates] }), {
      status: 422,
      code: 'identity-provider.certificate',
      pointer: '/certificates',
    });
  });

  it('that has expired is reported by the test, but people can still sign in', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const [notBefore, notAfter] = [new Date('2020-01-01'), new Date('2021-01-01')];
    const expired = await X509CertificateGenerator.createSelfSigned({
      keys,
      name: 'CN=old',
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
    });
    expect((await put({ certificates: [expired.toString('pem'), idp.certificate] })).status).toBe(200);
    const { ok, findings } = await testFinds();
    expect(ok).toBe(true);
    expect(findings[0]?.detail).toMatch(/expired\. .*new certificate/);
    expect((await signIn()).status).toBe(303);
  });

  it('stored unvalidated by an older version does not affect a valid one next to it', async () => {
    await put();
    const settings = (certificates: string[]) =>
      stage.change(`UPDATE identity_provider SET settings = settings || $1 WHERE name = 'main'`, [
        JSON.stringify({ certificates }),
      ]);
    await settings(['garbage', inLines(bare(idp.certificate), 76, '\r\n')]);
    const { ok, findings } = await testFinds();
    expect(ok).toBe(false);
    expect(findings.map((finding) => finding.ok).slice(0, 2)).toEqual([false, true]);
    expect((await signIn()).status).toBe(303);
    await settings(['garbage']);
    const answer = await new Browser().request(login());
    expect(((await answer.json()) as { code: string }).code).toBe('sso.provider-away');
    await put();
  });
});

describe.skipIf(SIMPLESAMLPHP === undefined)('a SAML authentication request', () => {
  async function requestWith(change: object): Promise<string> {
    expect((await put(change)).status).toBe(200);
    const answer = await new Browser().request(login());
    const query = new URL(answer.headers.get('location') ?? '').searchParams.get('SAMLRequest') ?? '';
    return inflateRawSync(Buffer.from(query, 'base64')).toString();
  }
  const EMAIL = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
  const CLASS = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport';

  it('asks for a persistent NameID and no context by default', async () => {
    const xml = await requestWith({});
    expect(xml).toContain('Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"');
    expect(xml).not.toContain('RequestedAuthnContext');
  });

  it('asks for another NameID format, or none, if configured', async () => {
    expect(await requestWith({ nameIdFormat: EMAIL })).toContain(`Format="${EMAIL}"`);
    expect((await service.call('GET', '/api/auth/saml/metadata')).body).toContain(`<md:NameIDFormat>${EMAIL}<`);
    expect(await requestWith({ nameIdFormat: null })).not.toContain('NameIDPolicy');
    expect((await service.call('GET', '/api/auth/saml/metadata')).body).not.toContain('NameIDFormat');
    assertProblem(await put({ nameIdFormat: '"><x' }), {
      status: 400,
      code: 'request.invalid',
      pointer: '/nameIdFormat',
    });
  });

  it('without a format requires that of a test sign-in, whoever signs in first', async () => {
    await put({ nameIdFormat: null });
    expect(await signIn()).toEqual({ status: 403, code: 'sso.name-format' });
    const person = await register(service, 'chief');
    await stage.change(`UPDATE user_account SET roles = '{admin}' WHERE email = $1`, [person.email]);
    const { body: tokens } = await signInWithPassword(service, person.email, person.password);
    const key = tokens.access_token as string;
    const begun = await service.call('POST', '/api/settings/identity-providers/test/main/sign-in', { key, body: {} });
    const browser = new Browser();
    for (const line of begun.headers.getSetCookie()) browser.keepCookie(service.url, line);
    const arrived = await postResponse(service, await responseFrom(browser, 'ada', begun.body.redirect as string));
    const [, ticket] = /#test=(\w+)$/.exec(arrived.headers.get('location') ?? '') ?? [];
    // The format is adopted only when the administrator reads the result in the browser that started the test.
    expect(await signIn()).toEqual({ status: 403, code: 'sso.name-format' });
    const result = await browser.request(`${service.url}/api/settings/identity-providers/test-results`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ ticket }),
    });
    expect(await result.json()).toMatchObject({ problem: null, subject: 'ada' });
    expect(await signIn()).toEqual({ status: 303, code: '' });
  });

  it('asks for a context with the configured comparison', async () => {
    const minimum = await requestWith({ requestedAuthnContext: { classes: [CLASS], comparison: 'minimum' } });
    expect(minimum).toContain('Comparison="minimum"');
    expect(minimum).toContain(`>${CLASS}<`);
    expect(await requestWith({ requestedAuthnContext: { classes: [CLASS] } })).toContain('Comparison="exact"');
    expect(await requestWith({ requestedAuthnContext: null })).not.toContain('RequestedAuthnContext');
    const unknown = await put({ requestedAuthnContext: { classes: [CLASS], comparison: 'nearly' } });
    assertProblem(unknown, { status: 400, code: 'request.invalid', pointer: '/requestedAuthnContext/comparison' });
  });
});

describe('a SAML response that signs nobody in', () => {
  const posted = (xml: string, accept: string) =>
    new Browser().request(`${service.url}/api/auth/saml/callback`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept },
      body: new URLSearchParams({ SAMLResponse: Buffer.from(xml).toString('base64') }).toString(),
    });
  const answer = (attributes: string, content = '') =>
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0"${attributes}>${content}</samlp:Response>`;

  it('redirects a browser to the sign-in page with the code, and returns the problem to a program', async () => {
    const unsolicited = answer('');
    const person = await posted(unsolicited, 'text/html,application/xhtml+xml');
    expect([person.status, person.headers.get('location')]).toEqual([303, '/#error=sso.unknown']);
    const program = await posted(unsolicited, '*/*');
    expect([program.status, program.headers.get('content-type')]).toEqual([
      401,
      'application/problem+json; charset=utf-8',
    ]);
    expect(((await program.json()) as { code: string }).code).toBe('sso.unknown');
  });

  it('reports the status of the provider, but none of its text', async () => {
    await put();
    const begun = await new Browser().request(login());
    const query = new URL(begun.headers.get('location') ?? '').searchParams.get('SAMLRequest') ?? '';
    const [, id] = / ID="(\w+)"/.exec(inflateRawSync(Buffer.from(query, 'base64')).toString()) ?? [];
    const status = 'urn:oasis:names:tc:SAML:2.0:status';
    const codes = `<samlp:StatusCode Value="${status}:Responder"><samlp:StatusCode Value="${status}:RequestDenied"/></samlp:StatusCode>`;
    const message = '<samlp:StatusMessage>call 555-0100 now</samlp:StatusMessage>';
    const denied = answer(` InResponseTo="${id}"`, `<samlp:Status>${codes}${message}</samlp:Status>`);
    const body = (await (await posted(denied, '*/*')).json()) as { code: string; detail: string };
    expect(body).toMatchObject({
      code: 'sso.refused',
      detail: 'The identity provider refused the sign-in: Responder, RequestDenied',
    });
    expect(service.log()).toContain('call 555-0100 now');
  });
});

describe.skipIf(SIMPLESAMLPHP === undefined)('SAML signature verification', () => {
  it.each<[string, { assertion: boolean; response: boolean }, number]>([
    ['the assertion', { assertion: true, response: false }, 303],
    ['the response', { assertion: false, response: true }, 303],
    ['nothing', { assertion: false, response: false }, 401],
  ])('evaluates a signature over %s', async (_, signs, status) => {
    await put();
    idp.describe({ ...sp, signs });
    expect((await signIn()).status).toBe(status);
    idp.describe(sp);
  });

  it('does not read an encrypted assertion, and logs that', async () => {
    const { body } = await put();
    idp.describe({ ...sp, encryptsFor: bare(body.settings.ourCertificate as string) });
    expect(await signIn()).toEqual({ status: 401, code: 'sso.refused' });
    expect(service.log()).toContain('encrypted');
    idp.describe(sp);
  });

  it('requires exactly the configured entity ID, and logs both', async () => {
    await service.call('DELETE', '/api/settings/identity-providers/main', { key: apiKey });
    await put({ entityId: `${idp.entityId}/` });
    expect((await signIn()).status).toBe(401);
    expect(service.log()).toContain(`the Issuer is ${idp.entityId}, not the entity ID ${idp.entityId}/`);
  });
});
