import { expect, it } from 'vitest';
import type { PolicySubject } from './approval-subject.port.js';
import type { Condition } from './approval-policy.entity.js';
import { policyWarningsOf } from './policy-warnings.js';

type Row = [condition: string, subject: PolicySubject, of: Condition, code: string | undefined, detail?: RegExp];

const is = (fact: string, ...values: string[]): Condition => ({ fact, op: 'in', values });
const isNot = (fact: string, ...values: string[]): Condition => ({ fact, op: 'not-in', values });
const COMPOSED = ['authenticode', 'attestation'];

const ROWS: Row[] = [
  ['one format', 'signing-request', is('format', 'authenticode'), 'format-condition', /for attestation bypasses/],
  [
    'all formats but one',
    'signing-request',
    isNot('format', 'attestation'),
    'format-condition',
    /a request for attestation bypasses/,
  ],
  ['raw alone', 'signing-request', is('format', 'raw'), 'format-condition', /authenticode, attestation bypasses/],
  ['all composed formats', 'signing-request', is('format', ...COMPOSED), undefined],
  ['metadata', 'signing-request', is('metadata.branch', 'main'), 'metadata-condition', /another value bypasses/],
  ['an algorithm', 'signing-request', is('algorithm', 'sha256'), 'choice-condition'],
  ['a scheme', 'signing-request', is('scheme', 'rsa-pss'), 'choice-condition'],
  ['listed callers', 'signing-request', is('caller', 'id'), 'caller-condition', /another API key/],
  ['all callers but listed ones', 'signing-request', isNot('caller', 'id'), undefined],
  ['a verified claim', 'signing-request', is('verified.ref', 'refs/**'), undefined],
  ['a principal', 'ssh-certificate', is('metadata.principal', 'root'), undefined],
  ['the name in a certificate', 'ssh-certificate', is('metadata.keyId', 'ann'), 'choice-condition'],
  ['an environment', 'ssh-rotation', is('metadata.environment', 'production'), 'record-condition', /hosts:write/],
  ['a label of a host', 'ssh-rotation', is('metadata.label.tier', '1'), 'record-condition', /hosts:write/],
  ['an account', 'ssh-rotation', is('metadata.account', 'root'), undefined],
  ['the custody of the new key', 'ssh-rotation', is('metadata.custody', 'human'), 'choice-condition'],
];

it.each(ROWS)(
  'a condition on %s of %s: warns how callers can evade it',
  (_, subject, condition, code, detail = /./) => {
    const warnings = policyWarningsOf({ subject, keys: ['release'], conditions: [condition], unless: [] });
    const expected = code === undefined ? [] : [{ code, fact: condition.fact }];
    expect(warnings.map((warning) => ({ code: warning.code, fact: warning.fact }))).toEqual(expected);
    expect(warnings.filter((warning) => !detail.test(warning.detail))).toEqual([]);
  },
);

it('an exception on a claim that any issuer can assert causes a warning, unless it names the issuer or the trust', () => {
  const warningsOf = (...unless: Condition[]) =>
    policyWarningsOf({ subject: 'signing-request', keys: ['*'], conditions: [], unless });
  const claims = [is('verified.repository', 'org/app'), is('verified.ref', 'refs/tags/*')];
  expect(warningsOf(...claims)).toMatchObject([{ code: 'issuer-exception', fact: 'verified.repository' }]);
  expect(warningsOf(...claims, is('verified.iss', 'https://ci.example'))).toEqual([]);
  expect(warningsOf(...claims, is('trust', 'app releases'))).toEqual([]);
  const hosted: Condition = { fact: 'verified.runner_environment', op: 'not-in', values: ['github-hosted'] };
  const conditionsOf = (...conditions: Condition[]) =>
    policyWarningsOf({ subject: 'signing-request', keys: ['*'], conditions, unless: [] });
  expect(conditionsOf(hosted)).toMatchObject([{ code: 'issuer-exception', fact: hosted.fact }]);
  expect(conditionsOf(hosted, is('verified.iss', 'https://ci.example'))).toEqual([]);
});

it('an exception on a caller-chosen fact causes a warning that it never holds', () => {
  const unless = [is('format', 'raw'), is('verified.ref', 'refs/**'), is('caller', 'id'), is('trust', 'app')];
  const warnings = policyWarningsOf({ subject: 'signing-request', keys: ['*'], conditions: [], unless });
  expect(warnings).toMatchObject([{ code: 'ignored-exception', fact: 'format' }]);
});
