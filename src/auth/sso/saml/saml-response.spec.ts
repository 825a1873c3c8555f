import { signXml } from '@node-saml/node-saml/lib/xml.js';
import type { Profile } from '@node-saml/passport-saml';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { assertNameFormat, assertQualifiers, PERSISTENT, withSeenFormat } from '../providers/saml-name-format.js';
import {
  assertAddressedTo,
  assertUnderstood,
  attributesOf,
  authenticatedAt,
  identityOf,
  isSameAddress,
  readSamlResponse,
  sessionEndOf,
  statusNames,
} from './saml-response.js';
import { profileIn } from './saml-strategy.js';

it.each<[unknown, boolean]>([
  ['https://sw.example/acs', true],
  ['https://sw.example:443/acs', true],
  ['HTTPS://SW.example/acs', true],
  ['https://sw.example/acs/', false],
  ['https://sw.example/ACS', false],
  ['https://sw.example:8443/acs', false],
  ['http://sw.example/acs', false],
  ['https://sw.example/acs?x', false],
  ['https://elsewhere.example/acs', false],
  ['/acs', false],
  ['', false],
  [undefined, false],
])('the address %j is our ACS URL: %j', (stated, expected) => {
  expect(isSameAddress(stated, 'https://sw.example/acs')).toBe(expected);
});

describe('a SAML response', () => {
  const acsUrl = 'https://sw.example/acs';
  const entityId = 'https://idp.example';
  const elsewhere = 'https://elsewhere.example/acs';
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const reference = (id: string) => `<ds:Reference URI="${id === '' ? '' : `#${id}`}"/>`;
  /** Throws unless the response is for this service. `signed`: IDs of the signed elements. */
  const judged = (attributes: string, signed: string[], recipient = acsUrl, said = entityId, confirmed = {}) => {
    const issuer = `<saml:Issuer>${said}</saml:Issuer>`;
    const xml = `<samlp:Response ID="r" InResponseTo="q"${attributes}>${issuer}${signed.map(reference).join('')}</samlp:Response>`;
    const { method = 'bearer', ...times } = { NotOnOrAfter: inSeconds(60), ...confirmed } as Record<string, string>;
    const data = { $: { Recipient: recipient, InResponseTo: 'q', ...times } };
    // A second, current confirmation does not compensate for an expired one.
    const other = { $: { Recipient: elsewhere, InResponseTo: 'q', NotOnOrAfter: inSeconds(60) } };
    const confirmations = [[method, data] as const, ['bearer', other] as const].map(([name, of]) => ({
      $: { Method: `urn:oasis:names:tc:SAML:2.0:cm:${name}` },
      SubjectConfirmationData: [of],
    }));
    const subject = { SubjectConfirmation: confirmations };
    const profile = { issuer: said, getAssertion: () => ({ Assertion: { Subject: subject } }) };
    const response = readSamlResponse(Buffer.from(xml).toString('base64'));
    return () => assertAddressedTo(response, profile as unknown as Profile, { acsUrl, entityId });
  };
  it('is accepted with our Destination, or without one if only the assertion is signed', () => {
    expect(judged(` Destination="${acsUrl}"`, ['r', 'a'])).not.toThrow();
    expect(judged('', ['a'])).not.toThrow();
  });

  it.each([
    ['signed without a Destination', '', ['r']],
    ['signed as a whole document without a Destination', '', ['a', '']],
    ['for another Destination, though it is not signed', ` Destination="${elsewhere}"`, ['a']],
  ])('is rejected when it is %s', (_, attributes, signed) => {
    expect(judged(attributes, signed)).toThrow('the Destination is');
  });

  it('may have white space around its Issuer, but no other Issuer', () => {
    const from = (issuer: string) => judged(` Destination="${acsUrl}"`, ['a'], acsUrl, issuer);
    expect(from(`\n    ${entityId}\r\n  `)).not.toThrow();
    expect(from(`${entityId}/`)).toThrow('the Issuer is');
    expect(from(`${entityId} ${entityId}`)).toThrow('the Issuer is');
    expect(from('')).toThrow('no Issuer');
  });

  it('accepts a bearer confirmation within the clock skew', () => {
    const times = { NotOnOrAfter: inSeconds(-50), NotBefore: inSeconds(50) };
    expect(judged(` Destination="${acsUrl}"`, ['a'], acsUrl, entityId, times)).not.toThrow();
  });

  it.each<[string, Record<string, string>]>([
    ['of who holds a key', { method: 'holder-of-key' }],
    ['of who vouches for it', { method: 'sender-vouches' }],
    ['that is over', { NotOnOrAfter: inSeconds(-70) }],
    ['that is not yet', { NotBefore: inSeconds(70) }],
    ['without an end', { NotOnOrAfter: '' }],
  ])('rejects a confirmation %s', (_, confirmed) => {
    const response = judged(` Destination="${acsUrl}"`, ['a'], acsUrl, entityId, confirmed);
    expect(response).toThrow('no valid bearer SubjectConfirmation');
  });

  it('is accepted without a Destination only for our Recipient', () => {
    expect(judged('', ['a'], elsewhere)).toThrow('names this service as Recipient');
  });
});

describe('the NameID format', () => {
  const settings = { entityId: 'x', entryPoint: 'x', certificates: [] };
  const [EMAIL, UNSPECIFIED] = ['emailAddress', 'unspecified'].map(
    (name) => `urn:oasis:names:tc:SAML:1.1:nameid-format:${name}`,
  ) as [string, string];
  const REFUSED = 'set "nameIdFormat" to the format';

  it('must be the configured one', () => {
    const configured = { ...settings, nameIdFormat: EMAIL };
    expect(() => assertNameFormat(configured, EMAIL)).not.toThrow();
    for (const other of [UNSPECIFIED, PERSISTENT, `${EMAIL} `, ''])
      expect(() => assertNameFormat(configured, other)).toThrow(REFUSED);
    expect(withSeenFormat(configured, EMAIL)).toBeUndefined();
  });

  it('must be persistent if nameIdFormat is not set, whoever signs in first', () => {
    expect(() => assertNameFormat(settings, PERSISTENT)).not.toThrow();
    for (const other of [EMAIL, UNSPECIFIED, '']) expect(() => assertNameFormat(settings, other)).toThrow(REFUSED);
    expect(withSeenFormat(settings, EMAIL)).toBeUndefined();
    expect(() => assertNameFormat({ ...settings, seenNameIdFormat: EMAIL }, EMAIL)).toThrow(REFUSED);
  });

  it('is taken from a test sign-in if nameIdFormat is null, not from the first person who signs in', () => {
    const open = { ...settings, nameIdFormat: null };
    expect(() => assertNameFormat(open, EMAIL)).toThrow('An administrator must run a test sign-in');
    const seen = withSeenFormat(open, EMAIL) ?? open;
    expect(() => assertNameFormat(seen, EMAIL)).not.toThrow();
    expect(() => assertNameFormat(seen, UNSPECIFIED)).toThrow(REFUSED);
    expect(withSeenFormat(seen, UNSPECIFIED)).toBeUndefined();
  });

  it('is unspecified when absent', () => {
    expect(() => assertNameFormat({ ...settings, nameIdFormat: UNSPECIFIED }, '')).not.toThrow();
    const seen = withSeenFormat({ ...settings, nameIdFormat: null }, '') ?? settings;
    expect(() => assertNameFormat(seen, UNSPECIFIED)).not.toThrow();
  });
});

it('a SAML status error reports the status codes, but no other text', () => {
  const code = (name: string, more = '') =>
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${more}</samlp:StatusCode>`;
  const message = '<samlp:StatusMessage>call 555</samlp:StatusMessage>';
  expect(statusNames(`<Status>${code('Responder', code('RequestDenied'))}${message}</Status>`)).toBe(
    'Responder, RequestDenied',
  );
  expect(statusNames(`<Status>${code('Responder now')}${message}</Status>`)).toBe('');
});

it('a NameID is refused if it is qualified by another name than that of the provider, or for another service', () => {
  const judged = (nameQualifier?: string, spNameQualifier?: string) => () =>
    assertQualifiers({ nameQualifier, spNameQualifier }, 'https://idp.example', 'https://sw.example');
  expect(judged()).not.toThrow();
  expect(judged('https://idp.example', 'https://sw.example')).not.toThrow();
  expect(judged('https://upstream.example')).toThrow('omit the NameQualifier, or to send "https://idp.example"');
  expect(judged(undefined, 'https://other.example')).toThrow('omit the SPNameQualifier');
});

it('a person and a session are read from the elements of the assertion, not from attributes of the same name', () => {
  const read = (assertion: object) =>
    identityOf({ nameID: 'ann', sessionIndex: 's', getAssertion: () => ({ Assertion: assertion }) } as never);
  expect(read({ Subject: [{}] })).toMatchObject({ nameID: '', sessionIndex: undefined });
  expect(read({ Subject: [{ NameID: [{ _: 'vic', x: ['tim'] }] }] }).nameID).toBe('');
});

describe('a signed assertion', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = { type: 'pkcs8', format: 'pem' } as const;

  /** Returns the profile that node-saml considers verified. */
  async function profileWith(content: string, audience: string | false = false): Promise<Profile> {
    const assertion =
      `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0" IssueInstant="${new Date().toISOString()}">` +
      `<saml:Issuer>https://idp.example</saml:Issuer><saml:Subject><saml:NameID>ann</saml:NameID></saml:Subject>` +
      `${content}</saml:Assertion>`;
    const xml = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0">${assertion}</samlp:Response>`;
    const signed = signXml(
      xml,
      "//*[local-name(.)='Assertion']",
      { reference: "//*[local-name(.)='Issuer']", action: 'after' },
      { privateKey: privateKey.export(pem).toString(), signatureAlgorithm: 'sha256', digestAlgorithm: 'sha256' },
    );
    return profileIn(
      {
        issuer: 'sw',
        audience,
        callbackUrl: 'https://sw.example/acs',
        idpCert: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        wantAssertionsSigned: true,
        wantAuthnResponseSigned: false,
      },
      Buffer.from(signed).toString('base64'),
    );
  }
  const attributesIn = async (...statements: string[]) =>
    attributesOf(
      await profileWith(
        statements.map((text) => `<saml:AttributeStatement>${text}</saml:AttributeStatement>`).join(''),
      ),
    );
  const attribute = (name: string, ...values: string[]) =>
    `<saml:Attribute Name="${name}">${values.map((text) => `<saml:AttributeValue>${text}</saml:AttributeValue>`).join('')}</saml:Attribute>`;

  it('ends with the session at the provider, and uses the earliest authentication time', async () => {
    const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
    const statement = (instant: string, end?: string) =>
      `<saml:AuthnStatement AuthnInstant="${instant}"${end === undefined ? '' : ` SessionNotOnOrAfter="${end}"`}/>`;
    const [early, late] = [at(-500), at(-5)];
    const both = await profileWith(statement(late) + statement(early, at(900)));
    expect(authenticatedAt(both)?.toISOString()).toBe(early);
    expect(Math.abs((sessionEndOf(both)?.getTime() ?? 0) - Date.now() - 900_000)).toBeLessThan(30_000);
    expect(sessionEndOf(await profileWith(statement(late)))).toBeUndefined();
    const over = await profileWith(statement(late, at(-3600)));
    expect(() => sessionEndOf(over)).toThrow('SessionNotOnOrAfter');
    const odd = await profileWith(statement(late, 'tomorrow'));
    expect(() => sessionEndOf(odd)).toThrow('SessionNotOnOrAfter');
  });

  it('is rejected if it has an unknown condition', async () => {
    const known = '<saml:Conditions><saml:OneTimeUse/></saml:Conditions>';
    const unknown = '<saml:Conditions><saml:Condition/></saml:Conditions>';
    const understood = await profileWith(known);
    expect(() => assertUnderstood(understood)).not.toThrow();
    const other = await profileWith(unknown);
    expect(() => assertUnderstood(other)).toThrow('an unsupported condition: Condition');
  });

  it('is accepted only for its Audience, ignoring surrounding white space', async () => {
    const restricted = (...audiences: string[]) =>
      profileWith(
        `<saml:Conditions><saml:AudienceRestriction>${audiences.map((text) => `<saml:Audience>${text}</saml:Audience>`).join('')}</saml:AudienceRestriction></saml:Conditions>`,
        'https://sw.example/m',
      );
    await expect(restricted('https://sw.example/m')).resolves.toBeTruthy();
    await expect(restricted('https://other.example', '\n   https://sw.example/m\n  ')).resolves.toBeTruthy();
    await expect(restricted('https://sw.example/m/')).rejects.toThrow('audience mismatch');
    await expect(restricted('https://sw.example/m x')).rejects.toThrow('audience mismatch');
    await expect(restricted('  ')).rejects.toThrow('no Audience value');
    await expect(restricted()).rejects.toThrow('no Audience value');
    await expect(profileWith('<saml:Conditions/>', 'https://sw.example/m')).rejects.toThrow('no AudienceRestriction');
  });

  it('names a person and a session', async () => {
    const statement = '<saml:AuthnStatement SessionIndex="7"/>';
    expect(identityOf(await profileWith(statement))).toEqual({
      nameID: 'ann',
      nameIDFormat: '',
      nameQualifier: undefined,
      spNameQualifier: undefined,
      sessionIndex: '7',
    });
  });

  it('yields all attribute values, whether in one element or in one element per value', async () => {
    const expected = { Role: ['staff', 'release', 'audit'], mail: 'ann@example.org' };
    const mail = attribute('mail', 'ann@example.org');
    expect(await attributesIn(attribute('Role', 'staff', 'release', 'audit') + mail)).toEqual(expected);
    expect(
      await attributesIn(attribute('Role', 'staff') + mail + attribute('Role', 'release') + attribute('Role', 'audit')),
    ).toEqual(expected);
    expect(await attributesIn(attribute('Role', 'staff', 'release'), mail + attribute('Role', 'audit'))).toEqual(
      expected,
    );
  });

  it('keeps attribute text as the provider wrote it, including white space and line breaks', async () => {
    const typed = '<saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">';
    expect(
      await attributesIn(
        attribute('groups', 'chiefs', '\nchiefs', 'chiefs&#10;', ' chiefs', '\r\n\tchiefs', 'chiefs\u00a0') +
          `<saml:Attribute Name="typed">${typed}release</saml:AttributeValue></saml:Attribute>` +
          attribute('nested', '<saml:NameID>x</saml:NameID>') +
          attribute('none') +
          attribute('__proto__', 'x'),
      ),
    ).toEqual(
      Object.fromEntries([
        ['groups', ['chiefs', '\nchiefs', 'chiefs\n', ' chiefs', '\n\tchiefs', 'chiefs\u00a0']],
        ['typed', 'release'],
        ['nested', undefined],
        ['__proto__', 'x'],
      ]),
    );
    expect(await attributesIn()).toEqual({});
  });
});
