import { describe, expect, it } from 'vitest';
import { assertTenant, trustWarningsOf } from './trust-rules.js';
import { isForPullRequest, trustRefusalOf, trustFor } from './trust-match.js';

const RULES = {
  id: '1',
  name: 'app releases',
  pullRequests: false,
  conditions: [
    { claim: 'repository', values: ['org/app'] },
    { claim: 'ref', values: ['refs/tags/v*'] },
    { claim: 'job_workflow_ref', values: ['org/app/.github/workflows/release.yml@refs/tags/v*'] },
  ],
};
const CLAIMS = {
  iss: 'https://issuer.example',
  sub: 'repo:org/app:ref:refs/tags/v1',
  repository: 'org/app',
  ref: 'refs/tags/v1',
  event_name: 'push',
  job_workflow_ref: 'org/app/.github/workflows/release.yml@refs/tags/v1',
};

describe('a trust accepts a matching run', () => {
  it('such as one in a cluster, by nested claims', () => {
    expect(trustRefusalOf(RULES, CLAIMS)).toBeUndefined();
    const cluster = { ...RULES, conditions: [{ claim: '/kubernetes.io/serviceaccount/name', values: ['signer'] }] };
    expect(trustRefusalOf(cluster, { 'kubernetes.io': { serviceaccount: { name: 'signer' } } })).toBeUndefined();
    expect(trustRefusalOf(cluster, { 'kubernetes.io': { serviceaccount: { name: 'other' } } })).toMatch(/claim/);
  });
});

describe('a trust rejects a claim that is only similar', () => {
  it.each<[string, object]>([
    ['a repository with a longer name', { repository: 'org/app-evil' }],
    ['a repository of another owner', { repository: 'org-evil/app' }],
    ['another case', { repository: 'Org/app' }],
    ['a Cyrillic letter', { repository: 'оrg/app' }],
    ['a path upwards', { ref: 'refs/tags/v1/../x' }],
    ['a branch with the name of a tag', { ref: 'refs/heads/v1' }],
    ['another workflow', { job_workflow_ref: 'org/app/.github/workflows/test.yml@refs/tags/v1' }],
    ['a workflow of another repository', { job_workflow_ref: 'evil/app/.github/workflows/release.yml@refs/tags/v1' }],
    ['no such claim', { repository: undefined }],
    ['a list with another repository', { repository: ['org/app', 'evil/app'] }],
    ['an object in place of a text', { repository: { 'org/app': true } }],
    ['a claim that is inherited', { repository: undefined, __proto__: { repository: 'org/app' } }],
  ])('%s', (_what, change) => {
    expect(trustRefusalOf(RULES, { ...CLAIMS, ...change })).toMatch(
      /^The trust app releases does not accept the value of the \w+ claim\.$/,
    );
  });
});

describe('a run for a pull or merge request, possibly from a fork', () => {
  it.each<[string, Record<string, unknown>]>([
    ['GitHub', { event_name: 'pull_request', ref: 'refs/pull/17/merge' }],
    ['GitHub, with the rights of the target', { event_name: 'pull_request_target', ref: 'refs/heads/main' }],
    ['GitHub, by the subject', { sub: 'repo:org/app:pull_request' }],
    ['GitLab', { pipeline_source: 'merge_request_event' }],
    ['GitLab, by the ref', { ref_path: 'refs/merge-requests/7/head' }],
    ['GitLab, of a repository elsewhere', { pipeline_source: 'external_pull_request_event' }],
    ['GitLab, started by another pipeline', { pipeline_source: 'parent_pipeline', ref_protected: 'false' }],
    ['GitLab, started by another pipeline on a protected branch', { pipeline_source: 'parent_pipeline', ref_protected: 'true' }], // prettier-ignore
    ['GitLab, started by a pipeline of another project', { pipeline_source: 'pipeline' }],
    ['GitLab, with a source that is not known', { pipeline_source: 'ondemand_dast_scan', ref_protected: 'true' }],
  ])('%s: is rejected unless the trust allows it', (_what, claims) => {
    expect(isForPullRequest(claims)).toBe(true);
    const rules = { ...RULES, conditions: [] };
    expect(trustRefusalOf(rules, claims)).toMatch(/pull request/);
    expect(trustRefusalOf({ ...rules, pullRequests: true }, claims)).toBeUndefined();
  });

  it('is not a GitLab pipeline started by people, schedules or programs', () => {
    for (const pipeline_source of ['push', 'schedule', 'web', 'api', 'trigger', 'chat', 'webide'])
      expect(isForPullRequest({ pipeline_source, ref_protected: 'false' })).toBe(false);
  });

  it('is not a GitLab pipeline that another one started on a protected branch, if the trust names this source', () => {
    for (const pipeline_source of ['parent_pipeline', 'pipeline']) {
      const named = { ...RULES, conditions: [{ claim: 'pipeline_source', values: ['push', pipeline_source] }] };
      expect(trustRefusalOf(named, { pipeline_source, ref_protected: 'true' })).toBeUndefined();
      expect(trustRefusalOf(named, { pipeline_source, ref_protected: 'false' })).toMatch(/pull request/);
      const any = { ...RULES, conditions: [{ claim: 'pipeline_source', values: ['*'] }] };
      expect(trustRefusalOf(any, { pipeline_source, ref_protected: 'true' })).toMatch(/pull request/);
    }
  });

  it('is not a push, a tag or a schedule', () => {
    for (const event of ['push', 'release', 'schedule', 'workflow_dispatch'])
      expect(
        isForPullRequest({ event_name: event, ref: 'refs/heads/pull/1', sub: 'repo:org/pull_request:ref:x' }),
      ).toBe(false);
  });
});

describe('with several trusts', () => {
  const wide = { ...RULES, id: '2', name: 'builds', conditions: [{ claim: 'repository', values: ['org/*'] }] };

  it('the one that accepts the token is used', () => {
    expect(trustFor([RULES, wide], { ...CLAIMS, ref: 'refs/heads/main' }, undefined).name).toBe('builds');
  });

  it('the caller must name one if more than one accepts the token', () => {
    expect(() => trustFor([RULES, wide], CLAIMS, undefined)).toThrow(/Several/);
    expect(trustFor([RULES, wide], CLAIMS, 'app releases').id).toBe('1');
    expect(() => trustFor([RULES, wide], CLAIMS, 'unknown')).toThrow(/No trust/);
    expect(() => trustFor([RULES], { ...CLAIMS, repository: 'org/b' }, undefined)).toThrow(/repository claim/);
  });
});

describe('an issuer whose tokens anybody can obtain', () => {
  const github = 'https://token.actions.githubusercontent.com';

  it.each<[string, string, string[]]>([
    [github, 'ref', ['refs/heads/main']],
    [github, 'event_name', ['push']],
    [github, 'sub', ['repo:octo-org*/app:ref:refs/tags/v*']],
    [github, 'sub', ['repo:org/app:ref:refs/heads/main', 'repo:*/app:ref:refs/heads/main']],
    [github, 'repository_owner', ['octo-org', 'octo-*']],
    [github, 'repository_id', ['45*']],
    ['https://accounts.google.com', 'email', ['release@*']],
    ['https://accounts.google.com', 'email', ['release*']],
    ['https://gitlab.com', 'namespace_path', ['my-group*']],
    ['https://gitlab.com', 'ref_path', ['refs/heads/main']],
    ['https://agent.buildkite.com', 'organization_slug', ['octo*']],
    ['https://agent.buildkite.com', 'build_branch', ['main']],
    ['https://app.terraform.io', 'terraform_run_phase', ['apply']],
    ['https://app.terraform.io', 'terraform_workspace_name', ['production']],
    ['https://app.terraform.io', 'sub', ['organization:*:project:x:workspace:y:run_phase:apply']],
    ['https://api.pulumi.com/oidc', 'sub', ['pulumi:deploy:org:*:project:x']],
    ['https://api.pulumi.com/oidc/v2', 'https://pulumi.com/current_env', ['app/prod']],
    ['https://oidc.codefresh.io', 'sub', ['account:*']],
    ['https://login.app.env0.com/', 'environmentName', ['production']],
    ['https://oidc.vercel.com', 'environment', ['production']],
    ['https://oauth2.sigstore.dev/auth', 'email_verified', ['true']],
  ])('%s requires a condition that identifies the tenant: %s %j does not', (issuer, claim, values) => {
    expect(() => assertTenant(issuer, [{ claim, values }])).toThrow(/anyone can get/);
  });

  it.each<[string, string, string]>([
    [github, 'repository', 'org/*'],
    [github, 'repository_owner_id', '123456'],
    [github, 'sub', 'repo:octo-org@*/octo-repo@*:ref:refs/tags/v*'],
    ['https://gitlab.com', 'project_path', 'my-group/**'],
    ['https://gitlab.example.com', 'ref', 'v1'],
    ['https://app.terraform.io', 'terraform_organization_name', 'acme'],
    ['https://api.pulumi.com/oidc', 'sub', 'pulumi:deploy:org:acme:project:*'],
    ['https://oidc.vercel.com', 'sub', 'owner:acme:project:*:environment:production'],
    ['https://oidc.codefresh.io', 'account_id', '628a80b693a15c0f9c13ab75'],
    ['https://login.app.env0.com/', 'https://env0.com/organization', '3aa5b5f1-6f4a-4f3e-9b3a-7a1f1b8c2d4e'],
  ])('%s: %s %s does, or no condition is required', (issuer, claim, value) => {
    expect(() => assertTenant(issuer, [{ claim, values: [value] }])).not.toThrow();
  });
});

describe('a warning about a trust of any issuer', () => {
  it.each<[string, string[]]>([
    ['environment', ['production']],
    ['ref', ['refs/heads/main']],
    ['run_phase', ['apply']],
    ['organization', ['acme*']],
    ['sub', ['*']],
    ['sub', ['org:*:job:release']],
    ['substitute', ['acme']],
  ])('is returned if no condition names an organization or a subject: %s %j', (claim, values) => {
    expect(trustWarningsOf([{ claim, values }])).toEqual(['tenant-not-named']);
  });

  it.each<[string, string]>([
    ['sub', 'org:acme:job:*'],
    ['organizationId', '17'],
    ['https://ci.example/org', 'acme'],
    ['/kubernetes.io/namespace', 'release'],
    ['repository_owner', 'acme'],
    ['email', 'release@acme.example'],
  ])('is not returned if one does: %s %s', (claim, value) => {
    expect(
      trustWarningsOf([
        { claim: 'ref', values: ['*'] },
        { claim, values: [value] },
      ]),
    ).toEqual([]);
  });
});
