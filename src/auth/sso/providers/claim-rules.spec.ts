import { describe, expect, it } from 'vitest';
import type { Claims } from '../../../access/identity/verified-identity.js';
import { Problem } from '../../../platform/errors/problem.js';
import { failedSignIn } from '../../model/failed-sign-in.js';
import type { SamlSettings } from '../../model/identity-provider.entity.js';
import { assertStrongEnough } from './authentication-context.js';
import { assertNameFormat } from './saml-name-format.js';
import { addressOf, assertNothingLeftOut, rolesOf } from './claim-rules.js';

const gives = (claims: Record<string, unknown>, claim: string, value: string): boolean =>
  rolesOf(claims, [{ claim, op: 'equals', value, roles: ['viewer'] }], null) !== undefined;

describe('a rule finds its claim', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['by its name', { groups: 'a' }, 'groups'],
    ['in a list', { groups: ['b', 'a'] }, 'groups'],
    ['behind a path', { realm_access: { roles: ['a'] } }, 'realm_access.roles'],
    [
      'behind names with dots',
      { resource_access: { 'my.client': { roles: ['a'] } } },
      'resource_access.my.client.roles',
    ],
    ['in each of a list', { groups: [{ name: 'b' }, 'x', { name: 'a' }] }, 'groups.name'],
    ['of a name with dots', { 'https://x.example/groups': ['a'] }, 'https://x.example/groups'],
  ])('%s', (_, claims, claim) => expect(gives(claims, claim, 'a')).toBe(true));

  it('that is a boolean or a number, by its text', () => {
    expect(gives({ email_verified: true }, 'email_verified', 'true')).toBe(true);
    expect(gives({ email_verified: 'true' }, 'email_verified', 'true')).toBe(true);
    expect(gives({ level: 3 }, 'level', '3')).toBe(true);
  });

  it('but not a number that JSON rounds to that of another group', () => {
    const groups: unknown = JSON.parse('[9007199254740993]');
    expect(gives({ groups }, 'groups', '9007199254740992')).toBe(false);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['another name', { group: 'a' }, 'groups'],
    ['a part of a name', { 'realm_access.roles': 'b', realm_access: { roles: 'a' } }, 'realm_access.roles'],
    ['objects', { groups: { a: 'a' } }, 'groups'],
    ['what every object has', {}, 'constructor.name'],
    ['an empty path', { '': 'a' }, '.'],
  ])('but not in %s', (_, claims, claim) => expect(gives(claims, claim, 'a')).toBe(false));
});

const SAML_GROUPS = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups';
const LINK = 'http://schemas.microsoft.com/claims/groups.link';

function judge(claims: Claims, claim: string): () => void {
  return () => assertNothingLeftOut(claims, [{ claim, op: 'equals', value: 'x', roles: ['viewer'] }]);
}

describe('a claim that the provider delivers elsewhere', () => {
  it.each<[Claims, string]>([
    [{ _claim_names: { groups: 'src1' } }, 'groups'],
    [{ hasgroups: true }, 'groups'],
    [{ hasgroups: 'true' }, 'groups'],
    [{ [LINK]: 'https://graph.example/x' }, SAML_GROUPS],
    [{ _claim_names: { realm_access: 'src1' } }, 'realm_access.roles'],
    [{ hasgroups: true }, 'groups.name'],
  ])('fails a rule that needs it: %j', (claims, claim) => {
    expect(judge(claims, claim)).toThrow(`omitted the claim "${claim}"`);
  });

  it.each<[Claims, string]>([
    [{ _claim_names: { groups: 'src1' } }, 'email'],
    [{ _claim_names: { groups: 'src1' }, groups: ['a'] }, 'groups'],
    [{ _claim_names: 'groups' }, 'groups'],
    [{ hasgroups: false }, 'groups'],
    [{}, 'groups'],
  ])('does not affect other rules: %j', (claims, claim) => {
    expect(judge(claims, claim)).not.toThrow();
  });
});

describe('the email address of a new account', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['is written in one way', { email: ' Ada@Example.ORG' }, 'ada@example.org'],
    ['may be the first of a list', { emails: ['ada@example.org', 'other@example.org'] }, 'ada@example.org'],
    ['may be verified', { email: 'ada@example.org', email_verified: true }, 'ada@example.org'],
    ['may be one of which the provider says nothing', { mail: ['ada@example.org'] }, 'ada@example.org'],
  ])('%s', (_, claims, address) => expect(addressOf(claims)).toBe(address));

  it.each<[string, Record<string, unknown>]>([
    ['by a truth value', { email: 'ceo@example.org', email_verified: false }],
    ['by its text', { email: 'ceo@example.org', email_verified: 'False' }],
    ['as XML Schema writes it', { email: 'ceo@example.org', email_verified: '0' }],
    ['by anything but a yes', { email: 'ceo@example.org', email_verified: { value: true } }],
  ])('is omitted when the provider marks it as unverified, %s', (_, claims) =>
    expect(() => addressOf(claims)).toThrow(expect.objectContaining({ code: 'sso.address-unverified' })),
  );

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['no address', { email: 'ada' }],
    ['two signs of @, one of them full-width', { email: 'ceo@example.org\uff20evil.example' }],
    ['a full-width sign that becomes white space', { email: 'ada\u3000@example.org' }],
    ['a second recipient by percent', { email: 'ada%evil.example@example.org' }],
    ['a name with an address', { email: 'ada<ada@example.org' }],
    ['a link', { email: 'https://evil.example/approve@example.org' }],
    ['a link of Markdown', { email: '[approve](x)@example.org' }],
    ['more than a mail server takes', { email: `${'a'.repeat(250)}@example.org` }],
  ])('is omitted when it is %s', (_, claims) =>
    expect(() => addressOf(claims)).toThrow(expect.objectContaining({ code: 'sso.no-address' })),
  );

  it.each([
    ['a Cyrillic letter in a Latin word', '\u0430dmin@example.org'],
    ['a Greek letter in the domain', 'admin@ex\u03b1mple.org'],
    ['a mark that turns text around', 'ada\u202e@example.org'],
    ['a NUL', 'ada\0@example.org'],
    ['a dot on an i', 'admi\u0307n@example.org'],
    ['an object replacement character', 'admin\ufffc@example.org'],
    ['a Hebrew letter in a Latin word', 'j\u05e1e@example.org'],
    ['only Cyrillic letters that look Latin', '\u0458\u043e\u0435@example.org'],
    ['a Hangul filler', 'admin@example.org\u3164'],
    ['a variation selector', 'admin\ufe0f@example.org'],
    ['a letter of Braille without dots', 'admin@example.org\u2800'],
  ])('is rejected when it can be mistaken for the address of another person: %s', (_, email) =>
    expect(() => addressOf({ email })).toThrow(expect.objectContaining({ code: 'sso.address-misleading' })),
  );

  it.each([
    '\u0430\u043d\u043d\u0430@\u043f\u043e\u0447\u0442\u0430.example',
    '\u03b4\u03bf\u03ba\u03b9\u03bc\u03ae@example.org',
    'j\u00f6rg@example.org',
    '\u5c71\u7530\u30a2\u30d2@example.org',
  ])('may use any script: %s', (email) => expect(addressOf({ email })).toBe(email));
});

it('an address of many combining marks is refused before it is normalized, which takes quadratic time', () => {
  const marks = '\u0301'.repeat(500_000) + '\u0323'.repeat(500_000);
  expect(() => addressOf({ email: `a${marks}@x.example` })).toThrow(
    expect.objectContaining({ code: 'sso.no-address' }),
  );
});

it('the reason for a refusal quotes what the provider sent as well-formed text', () => {
  const odd = `${'a'.repeat(199)}\u{1f600}`;
  const reasons = [
    () => assertNameFormat({ nameIdFormat: 'x' } as SamlSettings, odd),
    () => assertStrongEnough({ settings: { issuer: 'https://idp.example', acrValues: ['x'] } as never }, [odd]),
  ].map((refuse) => {
    try {
      refuse();
    } catch (error) {
      return (error as Problem).message;
    }
    return undefined;
  });
  expect(reasons.map((reason) => reason?.isWellFormed())).toEqual([true, true]);
  const problem = new Problem('unauthenticated', 'sso.refused', 'sent \ud83d and \0');
  const { audit } = failedSignIn(problem, { way: 'oidc' });
  expect(audit?.detail?.['reason']).toBe('sent \ufffd and \ufffd');
});
