/** Claims of jobs in the formats documented by the build systems, without the claims added by the issuer (iss, aud, iat, exp, jti). */

const SHA = '714a629c0b401fdce83e847fc9589983fc6f46bc';

/** GitHub Actions: a release workflow builds a tag on a GitHub-hosted runner. */
export const GITHUB = {
  sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/tags/v1.2.0',
  ref: 'refs/tags/v1.2.0',
  sha: SHA,
  repository: 'octo-org/octo-repo',
  repository_owner: 'octo-org',
  actor_id: '12',
  repository_visibility: 'private',
  repository_id: '456789',
  repository_owner_id: '123456',
  run_id: '6098123456',
  run_number: '10',
  run_attempt: '2',
  runner_environment: 'github-hosted',
  actor: 'octocat',
  workflow: 'release',
  head_ref: '',
  base_ref: '',
  event_name: 'push',
  ref_type: 'tag',
  ref_protected: 'false',
  workflow_ref: 'octo-org/octo-repo/.github/workflows/release.yml@refs/tags/v1.2.0',
  workflow_sha: SHA,
  job_workflow_ref: 'octo-org/octo-repo/.github/workflows/release.yml@refs/tags/v1.2.0',
  job_workflow_sha: SHA,
};

/** GitHub Actions: a pull request, whose code may come from a fork. */
export const GITHUB_PULL_REQUEST = {
  ...GITHUB,
  sub: 'repo:octo-org@123456/octo-repo@456789:pull_request',
  ref: 'refs/pull/17/merge',
  ref_type: 'branch',
  event_name: 'pull_request',
  head_ref: 'v1.2.0',
  base_ref: 'main',
};

/** GitLab CI: a protected tag is built on a runner hosted by GitLab. */
export const GITLAB = {
  namespace_id: '72',
  namespace_path: 'my-group',
  project_id: '20',
  project_path: 'my-group/my-project',
  user_id: '1',
  user_login: 'sample-user',
  user_email: 'sample-user@example.com',
  pipeline_id: '574',
  pipeline_source: 'push',
  job_id: '302',
  ref: 'v1.2.0',
  ref_type: 'tag',
  ref_path: 'refs/tags/v1.2.0',
  ref_protected: 'true',
  runner_id: 1,
  runner_environment: 'gitlab-hosted',
  sha: SHA,
  project_visibility: 'private',
  ci_config_ref_uri: 'gitlab.example.com/my-group/my-project//.gitlab-ci.yml@refs/tags/v1.2.0',
  ci_config_sha: SHA,
  sub: 'project_path:my-group/my-project:ref_type:tag:ref:v1.2.0',
};

/** Kubernetes: the projected service account token of a pod. */
export const KUBERNETES = {
  'kubernetes.io': {
    namespace: 'release',
    node: { name: 'node-1', uid: '646e7c5e-32d6-4d42-9dbd-e504e6cbe6b1' },
    pod: { name: 'signer-7d', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' },
    serviceaccount: { name: 'signer', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
  },
  sub: 'system:serviceaccount:release:signer',
};
