import { GITHUB, GITLAB, KUBERNETES } from '../fakes/workload-claims.js';

type Condition = readonly [fact: string, op: 'in' | 'not-in', ...values: string[]];

/** The claims of a workload, a policy for the signing key, and whether the policy requires approval. */
export interface ClaimPolicy {
  readonly name: string;
  /** Claims of the caller; undefined if the caller is not a workload. */
  readonly claims: object | undefined;
  readonly metadata?: Record<string, unknown>;
  readonly conditions?: readonly Condition[];
  readonly unless?: readonly Condition[];
  readonly needsApproval: boolean;
}

const SELF_HOSTED = { ...GITHUB, runner_environment: 'self-hosted' };
const BRANCH = { ...GITHUB, ref: 'refs/heads/main', ref_type: 'branch' };
const RELEASE: readonly Condition[] = [
  ['verified.repository', 'in', 'octo-org/octo-repo'],
  ['verified.ref', 'in', 'refs/tags/v*'],
];
const WORKFLOW = 'octo-org/octo-repo/.github/workflows/release.yml@refs/tags/*';

export const CLAIM_POLICIES: readonly ClaimPolicy[] = [
  { name: 'a policy without conditions', claims: GITHUB, needsApproval: true },
  {
    name: 'self-hosted runners: on one',
    claims: SELF_HOSTED,
    conditions: [['verified.runner_environment', 'in', 'self-hosted']],
    needsApproval: true,
  },
  {
    name: 'self-hosted runners: on another',
    claims: GITHUB,
    conditions: [['verified.runner_environment', 'in', 'self-hosted']],
    needsApproval: false,
  },
  {
    name: 'self-hosted runners: nobody proved where',
    claims: undefined,
    conditions: [['verified.runner_environment', 'in', 'self-hosted']],
    needsApproval: true,
  },
  {
    name: 'all but hosted runners: hosted',
    claims: GITHUB,
    conditions: [['verified.runner_environment', 'not-in', 'github-hosted']],
    needsApproval: false,
  },
  {
    name: 'all but hosted runners: self-hosted',
    claims: SELF_HOSTED,
    conditions: [['verified.runner_environment', 'not-in', 'github-hosted']],
    needsApproval: true,
  },
  {
    name: 'all but hosted runners: the claim is missing',
    claims: { ...GITHUB, runner_environment: undefined },
    conditions: [['verified.runner_environment', 'not-in', 'github-hosted']],
    needsApproval: true,
  },
  {
    name: 'all but hosted runners: only said so',
    claims: undefined,
    metadata: { runner_environment: 'github-hosted' },
    conditions: [['verified.runner_environment', 'not-in', 'github-hosted']],
    needsApproval: true,
  },
  { name: 'unless a release: it is one', claims: GITHUB, unless: RELEASE, needsApproval: false },
  { name: 'unless a release: of a branch', claims: BRANCH, unless: RELEASE, needsApproval: true },
  {
    name: 'unless a release: of another repository',
    claims: { ...GITHUB, repository: 'octo-org/other' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless a release: of a longer name',
    claims: { ...GITHUB, repository: 'octo-org/octo-repo-evil' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless a release: in another case',
    claims: { ...GITHUB, repository: 'Octo-Org/octo-repo' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless a release: a path upwards',
    claims: { ...GITHUB, ref: 'refs/tags/v1/../../heads/main' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless a release: a look-alike digit',
    claims: { ...GITHUB, ref: 'refs/tags/v１' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless a release: a deeper tag',
    claims: { ...GITHUB, ref: 'refs/tags/v1/x' },
    unless: RELEASE,
    needsApproval: true,
  },
  { name: 'unless a release: the caller is no workload', claims: undefined, unless: RELEASE, needsApproval: true },
  {
    name: 'unless a release: only said so',
    claims: undefined,
    metadata: { repository: 'octo-org/octo-repo', ref: 'refs/tags/v1' },
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'unless this workflow: it is',
    claims: GITHUB,
    unless: [['verified.job_workflow_ref', 'in', WORKFLOW]],
    needsApproval: false,
  },
  {
    name: 'unless this workflow: another one',
    claims: { ...GITHUB, job_workflow_ref: 'octo-org/octo-repo/.github/workflows/test.yml@refs/tags/v1' },
    unless: [['verified.job_workflow_ref', 'in', WORKFLOW]],
    needsApproval: true,
  },
  {
    name: 'unless this workflow: from a branch',
    claims: { ...GITHUB, job_workflow_ref: 'octo-org/octo-repo/.github/workflows/release.yml@refs/heads/main' },
    unless: [['verified.job_workflow_ref', 'in', WORKFLOW]],
    needsApproval: true,
  },
  {
    name: 'unless not self-hosted: nobody proved it',
    claims: undefined,
    unless: [['verified.runner_environment', 'not-in', 'self-hosted']],
    needsApproval: true,
  },
  {
    name: 'unless not self-hosted: proved',
    claims: GITHUB,
    unless: [['verified.runner_environment', 'not-in', 'self-hosted']],
    needsApproval: false,
  },
  {
    name: 'a condition and an exception: neither',
    claims: BRANCH,
    conditions: [['verified.ref_type', 'in', 'tag']],
    unless: RELEASE,
    needsApproval: false,
  },
  {
    name: 'a condition and an exception: the condition alone',
    claims: { ...GITHUB, repository: 'octo-org/other' },
    conditions: [['verified.ref_type', 'in', 'tag']],
    unless: RELEASE,
    needsApproval: true,
  },
  {
    name: 'GitLab: unless the ref is protected',
    claims: GITLAB,
    unless: [['verified.ref_protected', 'in', 'true']],
    needsApproval: false,
  },
  {
    name: 'GitLab: a subgroup',
    claims: { ...GITLAB, project_path: 'my-group/sub/app' },
    unless: [['verified.project_path', 'in', 'my-group/**']],
    needsApproval: false,
  },
  {
    name: 'GitLab: a group with a longer name',
    claims: { ...GITLAB, project_path: 'my-group-evil/app' },
    unless: [['verified.project_path', 'in', 'my-group/**']],
    needsApproval: true,
  },
  {
    name: 'Kubernetes: unless this service account',
    claims: KUBERNETES,
    unless: [
      ['verified./kubernetes.io/serviceaccount/name', 'in', 'signer'],
      ['verified./kubernetes.io/namespace', 'in', 'release'],
    ],
    needsApproval: false,
  },
  {
    name: 'Kubernetes: the account in another namespace',
    claims: { ...KUBERNETES, 'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'signer' } } },
    unless: [
      ['verified./kubernetes.io/serviceaccount/name', 'in', 'signer'],
      ['verified./kubernetes.io/namespace', 'in', 'release'],
    ],
    needsApproval: true,
  },
  { name: 'of one trust alone', claims: GITHUB, conditions: [['trust', 'in', 'another trust']], needsApproval: false },
  {
    name: 'of every trust but one, which it is',
    claims: GITHUB,
    unless: [['trust', 'in', 'of every claim']],
    needsApproval: false,
  },
];

/** Returns the policy in the API format. */
export function policyBody({ conditions = [], unless = [] }: ClaimPolicy) {
  const written = (all: readonly Condition[]) => all.map(([fact, op, ...values]) => ({ fact, op, values }));
  return { conditions: written(conditions), unless: written(unless) };
}
