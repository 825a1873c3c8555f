import { describe, expect, it } from 'vitest';
import type { VerifiedIdentity } from '../../src/access/identity/verified-identity.js';
import type { Condition } from '../../src/approvals/policies/approval-policy.entity.js';
import { jointVerdictOf } from '../../src/approvals/policies/policy-judgement.js';
import { usesOfCertificate } from '../../src/approvals/policies/key-use.port.js';
import { usesOfRow } from '../../src/ssh-keys/certificate-authority/ssh-certificate-approvals.js';

const GITHUB = {
  iss: 'https://token.actions.githubusercontent.com',
  sub: 'repo:org/app:ref:refs/tags/v1.2',
  repository: 'org/app',
  ref: 'refs/tags/v1.2',
  environment: 'production',
  runner_environment: 'github-hosted',
  job_workflow_ref: 'org/app/.github/workflows/deploy.yml@refs/tags/v1.2',
};
const KUBERNETES = {
  iss: 'https://kubernetes.example',
  sub: 'system:serviceaccount:prod:web',
  'kubernetes.io': { namespace: 'prod', serviceaccount: { name: 'web' } },
};
const TRUST = { id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', name: 'deploys' };
const is = (fact: string, ...values: string[]): Condition => ({ fact, op: 'in', values });
const isNot = (fact: string, ...values: string[]): Condition => ({ fact, op: 'not-in', values });

interface Asked {
  readonly claims?: object;
  readonly principals?: readonly string[];
  readonly kind?: 'user' | 'host';
  readonly renewal?: boolean;
}

/** Returns the row of a requested certificate. Policies evaluate this row when the certificate is requested and before the certificate is signed. */
function rowOf({ claims, principals = ['deploy'], renewal = false }: Asked) {
  const identity = claims as VerifiedIdentity['claims'] | undefined;
  const verified = { id: 'run', trust: TRUST, tokenSha256: '', keyThumbprint: '' };
  return {
    keyId: 'run 7',
    principals: [...principals],
    renews: renewal ? '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12' : null,
    request: {
      publicKey: 'ssh-ed25519 AAAA',
      requestedBy: { kind: 'workload' as const, id: 'run', name: 'run', ownerId: 'ann' },
      ...(identity === undefined ? {} : { identity: { ...verified, claims: identity } }),
    },
  };
}

/** Returns the same request in the form that a policy test evaluates (`POST /api/v1/approval-policies/test`, `sealwright policy test`), which has no row. */
function triedAs({ claims, principals = ['deploy'], kind = 'user', renewal = false }: Asked) {
  const said = { authority: 'logins', kind, keyType: 'ssh-ed25519', keyId: 'run 7', principals, isRenewal: renewal };
  const verified = { id: '', trust: { ...TRUST, id: '' }, tokenSha256: '', keyThumbprint: '' };
  const identity = claims === undefined ? null : { ...verified, claims: claims as VerifiedIdentity['claims'] };
  return usesOfCertificate({ ...said, callers: ['ann'], identity });
}

describe('a policy for SSH certificates evaluates verified facts about the requester', () => {
  type Row = [why: string, rules: { conditions?: Condition[]; unless?: Condition[] }, asked: Asked, applies: boolean];
  const tag = [is('verified.ref', 'refs/tags/v*'), is('verified.repository', 'org/app')];
  it.each<Row>([
    ['no rules', {}, { claims: GITHUB }, true],
    ['the repository', { conditions: [is('verified.repository', 'org/app')] }, { claims: GITHUB }, true],
    ['another repository', { conditions: [is('verified.repository', 'org/b')] }, { claims: GITHUB }, false],
    [
      'a repository that only resembles',
      { conditions: [is('verified.repository', 'org/ap')] },
      { claims: GITHUB },
      false,
    ],
    ['another case', { conditions: [is('verified.repository', 'Org/app')] }, { claims: GITHUB }, false],
    ['a pattern', { conditions: [is('verified.repository', 'org/*')] }, { claims: GITHUB }, true],
    ['not a repository', { conditions: [isNot('verified.repository', 'org/app')] }, { claims: GITHUB }, false],
    ['the issuer', { conditions: [is('verified.iss', GITHUB.iss)] }, { claims: GITHUB }, true],
    ['another issuer', { conditions: [is('verified.iss', GITHUB.iss)] }, { claims: KUBERNETES }, false],
    ['the trust by name', { conditions: [is('trust', 'deploys')] }, { claims: GITHUB }, true],
    ['another trust', { conditions: [is('trust', 'deploy')] }, { claims: GITHUB }, false],
    ['a nested claim', { conditions: [is('verified./kubernetes.io/namespace', 'prod')] }, { claims: KUBERNETES }, true],
    ['another one', { conditions: [is('verified./kubernetes.io/namespace', 'test')] }, { claims: KUBERNETES }, false],
    ['a person, who proved no claim', { conditions: [is('verified.repository', 'org/app')] }, {}, true],
    ['a person, by not-in', { conditions: [isNot('verified.environment', 'production')] }, {}, true],
    ['the person behind', { conditions: [is('caller', 'ann')] }, {}, true],
    ['another person', { conditions: [is('caller', 'bob')] }, {}, false],
    [
      'a self-hosted runner',
      { conditions: [isNot('verified.runner_environment', 'github-hosted')] },
      { claims: { ...GITHUB, runner_environment: 'self-hosted' } },
      true,
    ],
    [
      'a hosted runner',
      { conditions: [isNot('verified.runner_environment', 'github-hosted')] },
      { claims: GITHUB },
      false,
    ],
    ['excepted tags', { unless: tag }, { claims: GITHUB }, false],
    ['a branch, not excepted', { unless: tag }, { claims: { ...GITHUB, ref: 'refs/heads/main' } }, true],
    ['a path upwards, not excepted', { unless: tag }, { claims: { ...GITHUB, ref: 'refs/tags/v1/../x' } }, true],
    ['a look-alike, not excepted', { unless: tag }, { claims: { ...GITHUB, repository: 'оrg/app' } }, true],
    ['a person, not excepted', { unless: tag }, {}, true],
    ['an exception by not-in, of nobody', { unless: [isNot('verified.environment', 'production')] }, {}, true],
    ['root', { conditions: [is('metadata.principal', 'root')] }, { claims: GITHUB, principals: ['root'] }, true],
    [
      'root beside another',
      { conditions: [isNot('metadata.principal', 'deploy')] },
      { claims: GITHUB, principals: ['deploy', 'root'] },
      true,
    ],
    ['no root', { conditions: [isNot('metadata.principal', 'deploy')] }, { claims: GITHUB }, false],
    ['hosts alone', { conditions: [is('metadata.kind', 'host')] }, { kind: 'host', principals: ['web-1'] }, true],
    ['users, where hosts are meant', { conditions: [is('metadata.kind', 'host')] }, { claims: GITHUB }, false],
    ['a first certificate', { conditions: [is('metadata.renewal', 'false')] }, { kind: 'host' }, true],
    ['a renewal', { conditions: [is('metadata.renewal', 'false')] }, { kind: 'host', renewal: true }, false],
    ['the type of key', { conditions: [is('algorithm', 'ssh-rsa')] }, { claims: GITHUB }, false],
  ])('%s', (_why, rules, asked, applies) => {
    const policy = { subject: 'ssh-certificate' as const, keys: ['logins'], conditions: [], unless: [], ...rules };
    const row = rowOf(asked);
    const atIssue = usesOfRow({ name: 'logins', kind: asked.kind ?? 'user' }, row, row.request);
    expect(jointVerdictOf(policy, 'ssh-certificate', atIssue).applies).toBe(applies);
    expect(jointVerdictOf(policy, 'ssh-certificate', triedAs(asked)).applies).toBe(applies);
  });

  it('and does not apply to signing requests or another CA', () => {
    const policy = { subject: 'ssh-certificate' as const, keys: ['logins'], conditions: [], unless: [] };
    const row = rowOf({});
    const uses = usesOfRow({ name: 'others', kind: 'user' }, row, row.request);
    expect(jointVerdictOf(policy, 'ssh-certificate', uses).guards).toBe(false);
    expect(jointVerdictOf(policy, 'signing-request', triedAs({})).guards).toBe(false);
  });
});
