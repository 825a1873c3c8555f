import { describe, expect, it } from 'vitest';
import { faultOfPrincipal, isOnlyClaims, principalsOf, ruleFor, ruleVerdict } from './login-principals.js';

const rule = (...principals: string[]) => ({ name: 'builds', principals });
const CLAIMS = {
  email: 'ann.lee@example.org',
  project_id: 17,
  repository: 'org/app',
  groups: ['a', 'b'],
  'kubernetes.io': { namespace: 'prod' },
};
const RUN = { subject: 'workload', claims: CLAIMS } as const;

describe('certificate principals', () => {
  it('are literal names, and names with claims substituted', () => {
    expect(
      principalsOf(rule('deploy', 'ci-{project_id}', '{email:local}', 'ns-{/kubernetes.io/namespace}'), CLAIMS),
    ).toEqual(['deploy', 'ci-17', 'ann.lee', 'ns-prod']);
    expect(principalsOf(rule('deploy', 'deploy'), CLAIMS)).toEqual(['deploy']);
    expect(principalsOf(rule('root'), CLAIMS)).toEqual(['root']);
  });

  it.each<[string, string, object]>([
    ['the claim is missing', '{team}', {}],
    ['it has several values', '{groups}', {}],
    ['it is a path', '{repository}', {}],
    ['it has another character', '{name}', { name: 'ann,root' }],
    ['it is empty', '{name}', { name: '' }],
    ['it begins with an option', '{name}', { name: '-oProxyCommand' }],
    ['it is a look-alike', '{name}', { name: 'аnn' }],
    ['it is an address and not its local part', '{email}', {}],
    ['the address has two @', '{email:local}', { email: 'root@evil@example.org' }],
    ['it names root', '{name}', { name: 'root' }],
    ['it names root in another case', '{name}', { name: 'Root' }],
    ['it makes root', 'ro{name}', { name: 'ot' }],
    ['it names the account of an image', '{name}', { name: 'ec2-user' }],
    ['it names the account of an image in another case', '{email:local}', { email: 'Ubuntu@example.org' }],
    ['it names the account of a service', '{name}', { name: 'postgres' }],
  ])('are rejected if %s', (_why, principal, change) => {
    expect(() => principalsOf(rule(principal), { ...CLAIMS, ...change })).toThrow(/Rule "builds"/);
  });

  it.each(['a b', 'a/b', '{a', 'a}', '{}', '{a:other}', '', '*', '$x'])('cannot be %j', (text) => {
    expect(faultOfPrincipal(text)).toBeTypeOf('string');
  });
});

it.each([
  ['{name}', true],
  ['{email:local}', true],
  ['{a}{/b/c}', true],
  ['ci-{name}', false],
  ['{name}.example.org', false],
  ['deploy', false],
])('the principal %s consists only of claims: %s', (principal, is) => {
  expect(isOnlyClaims(principal)).toBe(is);
});

describe('the matching rule for a caller', () => {
  const rules = [
    { id: '1', name: 'app', conditions: [{ claim: 'repository', values: ['org/app'] }] },
    { id: '2', name: 'all', conditions: [{ claim: 'repository', values: ['org/*'] }] },
  ];

  it('is the only rule that matches, or the named rule', () => {
    expect(ruleFor(rules, { ...RUN, claims: { repository: 'org/b' } }, undefined).name).toBe('all');
    expect(ruleFor(rules, RUN, 'app').id).toBe('1');
    expect(() => ruleFor(rules, RUN, undefined)).toThrow(/app, all/);
    expect(() => ruleFor(rules, { ...RUN, claims: { repository: 'org/b' } }, 'app')).toThrow(/No rule/);
    expect(() => ruleFor(rules, { ...RUN, claims: {} }, undefined)).toThrow(/No rule/);
    expect(() => ruleFor(rules, { ...RUN, origin: ['iss'] }, 'app')).toThrow(/No rule/);
  });
});

describe('trying claims against a rule', () => {
  const tried = {
    id: '1',
    name: 'builds',
    enabled: true,
    subject: 'workload' as const,
    conditions: [{ claim: 'repository', values: ['org/app'] }],
    principals: ['ci-{project_id}'],
  };
  const verdict = (change: object, claims: object = CLAIMS, subject: 'workload' | 'person' = 'workload') =>
    ruleVerdict({ ...tried, ...change }, { subject, claims: claims as Record<string, unknown> });

  it('returns the resulting principals', () => {
    expect(verdict({})).toEqual({ rule: { id: '1', name: 'builds' }, accepted: true, principals: ['ci-17'] });
  });

  it('returns the reason for a refusal', () => {
    expect(verdict({ enabled: false })).toMatchObject({ accepted: false, fault: 'disabled' });
    expect(verdict({}, CLAIMS, 'person')).toMatchObject({ accepted: false, fault: 'subject' });
    expect(verdict({}, { ...CLAIMS, repository: 'org/b' })).toMatchObject({
      fault: 'claim',
      claim: 'repository',
      wanted: ['org/app'],
      given: ['org/b'],
    });
    expect(verdict({ principals: ['{email}'] })).toMatchObject({
      fault: 'principal',
      detail: 'Rule "builds" cannot derive a name from the email claim.',
    });
  });
});
