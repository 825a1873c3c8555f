import { describe, expect, it } from 'vitest';
import { COMPOSED_FORMATS, type KeyUseToApprove, signingUse, usesOfCertificate } from './key-use.port.js';
import type { Condition } from './approval-policy.entity.js';
import { verdictOf } from './policy-judgement.js';

const CLAIMS = {
  repository: 'org/app',
  ref: 'refs/tags/v1',
  runner_environment: 'github-hosted',
  groups: ['a', 'b'],
  'kubernetes.io': { namespace: 'prod' },
};
const OTHER = {
  key: 'release',
  algorithm: 'sha256',
  scheme: 'ecdsa-der',
  format: 'raw',
  metadata: { repository: 'org/app' },
  callers: ['run', 'person'],
};
const identity = (claims: object) => ({
  id: 'run',
  trust: { id: 'trust-1', name: 'app releases' },
  claims: claims as Record<string, unknown>,
  tokenSha256: '',
  keyThumbprint: '',
});
const use = (claims: object | null = CLAIMS, other: Partial<typeof OTHER> = {}): KeyUseToApprove =>
  signingUse({ ...OTHER, ...other, identity: claims === null ? null : identity(claims) });
const applies = (rules: { conditions?: Condition[]; unless?: Condition[] }, of = use()) =>
  verdictOf(
    { subject: 'signing-request', keys: ['release'], conditions: [], unless: [], ...rules },
    'signing-request',
    of,
  ).applies;
const is = (fact: string, ...values: string[]): Condition => ({ fact, op: 'in', values });
const isNot = (fact: string, ...values: string[]): Condition => ({ fact, op: 'not-in', values });

describe('a condition on a verified claim', () => {
  it('matches a top-level claim, a nested claim, a list item and the trust', () => {
    expect(applies({ conditions: [is('verified.repository', 'org/app')] })).toBe(true);
    expect(applies({ conditions: [is('verified.repository', 'org/other')] })).toBe(false);
    expect(applies({ conditions: [is('verified./kubernetes.io/namespace', 'prod')] })).toBe(true);
    expect(applies({ conditions: [is('verified.groups', 'b')] })).toBe(true);
    expect(applies({ conditions: [is('trust', 'app releases')] })).toBe(true);
    expect(applies({ conditions: [is('trust', 'trust-1')] })).toBe(true);
    expect(applies({ conditions: [is('caller', 'trust-1')] })).toBe(true);
  });

  it('matches path segments exactly, whereas a condition on caller metadata matches a prefix', () => {
    expect(
      applies({ conditions: [is('verified.repository', 'org/*')] }, use({ ...CLAIMS, repository: 'org/app/x' })),
    ).toBe(false);
    expect(applies({ conditions: [is('metadata.repository', 'org/*')] })).toBe(true);
  });

  it('holds for a caller without verified claims, so that omitting proof does not evade the policy', () => {
    expect(applies({ conditions: [is('verified.ref', 'refs/heads/**')] }, use(null))).toBe(true);
    expect(applies({ conditions: [isNot('verified.runner_environment', 'github-hosted')] }, use(null))).toBe(true);
    expect(applies({ conditions: [isNot('verified.runner_environment', 'github-hosted')] })).toBe(false);
  });

  it.each(['fix#12', 'fix(1)', 'a,b', '50%', "it's", 'fix-ü', 'a//b', '../tags/v1'])(
    'holds for the value "refs/heads/%s", which a pattern cannot evaluate',
    (branch) => {
      const run = use({ ...CLAIMS, ref: `refs/heads/${branch}` });
      expect(applies({ conditions: [is('verified.ref', 'refs/heads/**')] }, run)).toBe(true);
      expect(applies({ conditions: [is('verified.ref', 'refs/heads/*')] }, run)).toBe(true);
      expect(applies({ conditions: [isNot('verified.ref', 'refs/heads/**')] }, run)).toBe(true);
      expect(applies({ conditions: [is('verified.ref', 'refs/tags/*')] }, run)).toBe(false);
      // An exception never holds for a value that cannot be evaluated, whether it uses `in` or `not-in`.
      expect(applies({ unless: [is('verified.ref', 'refs/heads/**')] }, run)).toBe(true);
      expect(applies({ unless: [isNot('verified.ref', 'refs/heads/**')] }, run)).toBe(true);
    },
  );

  it('holds if any value of a list is outside the excluded values, so that adding a harmless value has no effect', () => {
    const run = (...groups: string[]) => use({ ...CLAIMS, groups });
    expect(applies({ conditions: [isNot('verified.groups', 'dev')] }, run('dev'))).toBe(false);
    expect(applies({ conditions: [isNot('verified.groups', 'dev')] }, run('dev', 'prod'))).toBe(true);
    expect(applies({ conditions: [is('verified.groups', 'prod')] }, run('dev', 'prod'))).toBe(true);
    // An exception applies only if it holds for every value.
    expect(applies({ unless: [is('verified.groups', 'dev')] }, run('dev', 'prod'))).toBe(true);
    expect(applies({ unless: [is('verified.groups', 'dev')] }, run('dev'))).toBe(false);
    expect(applies({ unless: [isNot('verified.groups', 'prod')] }, run('dev', 'prod'))).toBe(true);
    expect(applies({ unless: [isNot('verified.groups', 'prod')] }, run('dev'))).toBe(false);
  });

  it('holds for more values than are evaluated, because callers choose the length of a list', () => {
    const groups = (count: number) => use({ ...CLAIMS, groups: Array.from({ length: count }, (_, i) => `group-${i}`) });
    const patterns = Array.from({ length: 50 }, (_, i) => `other/${i}/*`);
    expect(applies({ conditions: [is('verified.groups', ...patterns)] }, groups(50))).toBe(false);
    expect(applies({ conditions: [is('verified.groups', ...patterns)] }, groups(51))).toBe(true);
    const unless = [isNot('verified.groups', ...patterns)];
    expect([50, 51].map((count) => applies({ unless }, groups(count)))).toEqual([false, true]);
  });

  it('holds for an attestation of several files if one file is outside the excluded names', () => {
    const attested = (...names: string[]) =>
      use(null, { format: 'attestation', metadata: { subjects: names.map((name) => ({ name })) } as never });
    const notDocs = { conditions: [isNot('metadata.filename', 'docs-*')] };
    expect(applies(notDocs, attested('docs-1.html', 'docs-2.html'))).toBe(false);
    expect(applies(notDocs, attested('docs-1.html', 'release.exe'))).toBe(true);
  });

  it('evaluates aliases together: caller and the person behind it, name and ID of a trust', () => {
    expect(applies({ conditions: [isNot('trust', 'app releases')] })).toBe(false);
    expect(applies({ conditions: [isNot('caller', 'person')] })).toBe(false);
    expect(applies({ conditions: [isNot('caller', 'somebody')] })).toBe(true);
    expect(applies({ unless: [is('caller', 'person')] })).toBe(false);
    expect(applies({ unless: [isNot('caller', 'person')] })).toBe(true);
  });

  it('does not treat values provided by the caller as verified', () => {
    const said = use(null, { metadata: { 'verified.repository': 'org/app', trust: 'x' } as never });
    expect(Object.keys(said.facts).filter((name) => name.startsWith('verified') || name === 'trust')).toEqual([]);
  });
});

describe('a condition on a caller-chosen fact for a signature over a digest', () => {
  const bare = ['raw', 'sigstore-bundle', 'dsse', 'openpgp', 'a format of a later version'];

  it.each(bare)('holds for %s, because the signature can be moved into any format', (format) => {
    const of = use(null, { format });
    for (const condition of [
      is('format', 'authenticode'),
      isNot('format', 'raw', format),
      is('scheme', 'rsa-pss'),
      is('algorithm', 'sha512'),
      isNot('algorithm', 'sha256'),
    ])
      expect({ condition, applies: applies({ conditions: [condition] }, of) }).toEqual({ condition, applies: true });
  });

  it.each(COMPOSED_FORMATS)('is evaluated by its value for %s, which the service composes', (format) => {
    const of = use(null, { format });
    expect(applies({ conditions: [is('format', format)] }, of)).toBe(true);
    expect(applies({ conditions: [is('format', 'raw')] }, of)).toBe(false);
    expect(applies({ conditions: [is('algorithm', 'sha512')] }, of)).toBe(false);
  });
});

describe('a condition on the principal of a host certificate', () => {
  const certificate = { authority: 'hosts', keyType: 'ssh-ed25519', keyId: 'x', isRenewal: false, callers: ['ann'] };
  const guards = (kind: string, principal: string, wanted: string) =>
    usesOfCertificate({ ...certificate, kind, principals: [principal], identity: null }).some(
      (one) =>
        verdictOf(
          { subject: 'ssh-certificate', keys: ['hosts'], conditions: [is('metadata.principal', wanted)], unless: [] },
          'ssh-certificate',
          one,
        ).applies,
    );

  it.each(['*.prod.example.com', 'd*.prod.example.com', 'db?.example.com', 'DB.prod.example.com'])(
    'holds for %s, which matches a host in the condition',
    (principal) => {
      expect(guards('host', principal, 'db.prod.example.com')).toBe(true);
      expect(guards('host', principal, 'db*')).toBe(true);
    },
  );

  it('does not hold for a different host', () => {
    expect(guards('host', 'web.prod.example.com', 'db.prod.example.com')).toBe(false);
    expect(guards('user', 'DB', 'db')).toBe(false);
  });
});

it('a policy covers the successor of a key that it names', () => {
  const rules = { subject: 'ssh-rotation' as const, keys: ['SHA256:old'], conditions: [], unless: [] };
  const rotated = { key: 'SHA256:new', formerKeys: ['SHA256:older', 'SHA256:old'], facts: {} };
  expect(verdictOf(rules, 'ssh-rotation', rotated)).toMatchObject({ guards: true, applies: true });
  expect(verdictOf(rules, 'ssh-rotation', { key: 'SHA256:new', facts: {} }).guards).toBe(false);
});

describe('an exception', () => {
  it.each(['format', 'scheme', 'algorithm', 'metadata.branch'])(
    'on %s never holds, even if an earlier version stored it',
    (fact) => {
      for (const exception of [is(fact, '*'), isNot(fact, 'x')]) expect(applies({ unless: [exception] })).toBe(true);
    },
  );

  const unless = [is('verified.repository', 'org/app'), is('verified.ref', 'refs/tags/v*')];

  it('exempts when all its conditions hold', () => {
    expect(applies({ unless })).toBe(false);
    expect(applies({ unless }, use({ ...CLAIMS, ref: 'refs/heads/main' }))).toBe(true);
    expect(applies({ unless }, use({ ...CLAIMS, repository: 'org/app-evil' }))).toBe(true);
  });

  it('exempts nobody whose claim is unknown, not even with "not-in"', () => {
    expect(applies({ unless }, use(null))).toBe(true);
    expect(applies({ unless: [isNot('verified.runner_environment', 'self-hosted')] }, use(null))).toBe(true);
    expect(applies({ unless: [isNot('verified.runner_environment', 'self-hosted')] })).toBe(false);
    expect(applies({ unless: [is('verified.missing', '')] })).toBe(true);
  });

  it('exempts nothing when it has no conditions', () => {
    expect(applies({ unless: [] })).toBe(true);
  });
});

it('a verdict reports its reasons with the compared values', () => {
  const verdict = verdictOf(
    {
      subject: 'signing-request',
      keys: ['*'],
      conditions: [is('format', 'cms')],
      unless: [is('verified.ref', 'refs/tags/v*')],
    },
    'signing-request',
    use(CLAIMS, { format: 'attestation' }),
  );
  expect(verdict).toEqual({
    applies: false,
    guards: true,
    conditions: [{ fact: 'format', op: 'in', values: ['cms'], given: ['attestation'], holds: false }],
    unless: [{ fact: 'verified.ref', op: 'in', values: ['refs/tags/v*'], given: ['refs/tags/v1'], holds: true }],
  });
});
