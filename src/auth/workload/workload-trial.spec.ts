import { describe, expect, it } from 'vitest';
import { trustVerdict } from './workload-trial.service.js';

const ISSUER = { issuer: 'https://issuer.example', enabled: true };
const TRUST = {
  id: '1',
  name: 'releases',
  enabled: true,
  audience: 'https://sign.example',
  conditions: [
    { claim: 'repository', values: ['org/app'] },
    { claim: 'ref', values: ['refs/tags/v*'] },
  ],
  pullRequests: false,
};
const CLAIMS = { iss: ISSUER.issuer, aud: TRUST.audience, repository: 'org/app', ref: 'refs/tags/v1', sub: 'x' };
const verdict = (claims: object, trust: object = {}, issuer: object = {}) =>
  trustVerdict({ ...TRUST, ...trust }, { ...ISSUER, ...issuer }, { ...CLAIMS, ...claims });

describe('trying claims against a trust', () => {
  it('accepts them when everything matches', () => {
    expect(verdict({})).toEqual({ trust: { id: '1', name: 'releases' }, accepted: true });
    expect(verdict({ aud: [TRUST.audience] }).accepted).toBe(true);
  });

  it.each<[string, object, object]>([
    [
      'a branch',
      { ref: 'refs/heads/main' },
      { fault: 'claim', claim: 'ref', wanted: ['refs/tags/v*'], given: ['refs/heads/main'] },
    ],
    ['no ref', { ref: undefined }, { fault: 'claim', claim: 'ref', given: [] }],
    ['another repository first', { repository: 'org/b', ref: 'x' }, { fault: 'claim', claim: 'repository' }],
    ['another issuer', { iss: 'https://issuer.example/' }, { fault: 'issuer', wanted: [ISSUER.issuer] }],
    ['another audience', { aud: 'x' }, { fault: 'audience', given: ['x'] }],
    ['two audiences', { aud: [TRUST.audience, 'x'] }, { fault: 'audience', given: [TRUST.audience, 'x'] }],
    ['a pull request', { event_name: 'pull_request' }, { fault: 'pull-request' }],
  ])('reports why they are rejected: %s', (_what, claims, expected) => {
    expect(verdict(claims)).toMatchObject({ accepted: false, ...expected });
  });

  it('rejects a disabled trust, and a trust of a disabled issuer', () => {
    expect(verdict({}, { enabled: false })).toMatchObject({ accepted: false, fault: 'disabled' });
    expect(verdict({}, {}, { enabled: false })).toMatchObject({ accepted: false, fault: 'issuer-disabled' });
  });
});
