import {
  type ClaimCondition,
  claimValues,
  type Claims,
  unmetCondition,
} from '../../access/identity/verified-identity.js';
import type { WorkloadTrust } from '../model/workload.entity.js';
import { printable, WorkloadTokenRefused } from './workload-token.js';

type Rules = Pick<WorkloadTrust, 'name' | 'conditions' | 'pullRequests'>;

/** Event names, and prefixes of refs, that build systems assign to runs for pull and merge requests. */
const PULL_REQUEST_EVENTS: Readonly<Record<string, RegExp>> = {
  // GitHub Actions, Gitea, Forgejo: pull_request, pull_request_target, pull_request_review …
  event_name: /^pull_request/,
  // GitLab CI and GitHub Actions.
  ref: /^refs\/(?:pull|merge-requests)\//,
  ref_path: /^refs\/(?:pull|merge-requests)\//,
};

/**
 * GITLAB_SOURCES are the sources of GitLab CI pipelines that are not started by a merge request. Every source that is not listed here or in
 * GITLAB_STARTED_BY_PIPELINES is rejected: merge_request_event, external_pull_request_event, and any source that GitLab adds later.
 */
const GITLAB_SOURCES: ReadonlySet<string> = new Set(['push', 'schedule', 'web', 'api', 'trigger', 'chat', 'webide']);

/**
 * GITLAB_STARTED_BY_PIPELINES are the sources of pipelines started by another pipeline. That pipeline may belong to a merge request, whose author can change
 * the pipelines that it starts, even on protected branches and tags. The claims do not name that pipeline, so these sources are accepted only for protected
 * branches and tags, and only if the trust has a condition on `pipeline_source` that names the source.
 */
const GITLAB_STARTED_BY_PIPELINES: ReadonlySet<string> = new Set(['parent_pipeline', 'pipeline']);

/**
 * Returns the trust that a token matches. If several trusts match, the caller must name one, because the trusts grant different rights.
 *
 * @param named the name or ID that the caller specified
 * @throws WorkloadTokenRefused
 */
export function trustFor<Trust extends Rules & { readonly id: string }>(
  trusts: readonly Trust[],
  claims: Claims,
  named: string | undefined,
): Trust {
  const asked = named === undefined ? trusts : trusts.filter(({ id, name }) => name === named || id === named);
  const refusals = asked.map((trust) => trustRefusalOf(trust, claims));
  const [met, ...more] = asked.filter((_trust, i) => refusals[i] === undefined);
  if (met === undefined)
    throw new WorkloadTokenRefused(
      refusals.length === 1 ? (refusals[0] ?? '') : 'No trust accepts the claims of this token.',
    );
  if (more.length > 0)
    throw new WorkloadTokenRefused('Several trusts accept this token. Select one with the trust parameter.');
  return met;
}

/** Returns the reason, worded for the caller, why a trust does not accept these claims; undefined if the trust accepts the claims. */
export function trustRefusalOf(trust: Rules, claims: Claims): string | undefined {
  const mismatch = mismatchOf(trust, claims);
  if (mismatch === undefined) return undefined;
  const name = printable(trust.name);
  if (mismatch.fault === 'pull-request')
    return `The trust ${name} does not accept runs that are, or may have been, started by a pull request.`;
  return `The trust ${name} does not accept the value of the ${printable(mismatch.condition.claim)} claim.`;
}

/** The reason why a trust does not accept claims. */
export type Mismatch =
  { readonly fault: 'claim'; readonly condition: ClaimCondition } | { readonly fault: 'pull-request' };

/** Returns the first reason why a trust does not accept these claims, for both the exchange and the test; undefined if the trust accepts the claims. */
export function mismatchOf({ conditions, pullRequests }: Omit<Rules, 'name'>, claims: Claims): Mismatch | undefined {
  const condition = unmetCondition(conditions, claims);
  if (condition !== undefined) return { fault: 'claim', condition };
  return !pullRequests && isForPullRequest(claims, conditions) ? { fault: 'pull-request' } : undefined;
}

/**
 * isForPullRequest reports whether a run is for, or may be for, a pull or merge request, which may come from a fork. The claims of GitHub Actions and GitLab CI
 * are recognized.
 */
export function isForPullRequest(claims: Claims, conditions: readonly ClaimCondition[] = []): boolean {
  const byEvent = Object.entries(PULL_REQUEST_EVENTS).some(([claim, pattern]) =>
    claimValues(claims, claim).some((value) => pattern.test(value)),
  );
  const isSubject = claimValues(claims, 'sub').some((value) => value.split(':').includes('pull_request'));
  return byEvent || isSubject || isGitlabMergeRequest(claims, conditions);
}

function isGitlabMergeRequest(claims: Claims, conditions: readonly ClaimCondition[]): boolean {
  const isProtected = claimValues(claims, 'ref_protected').join() === 'true';
  const isNamed = (source: string) =>
    GITLAB_STARTED_BY_PIPELINES.has(source) &&
    conditions.some(({ claim, values }) => claim === 'pipeline_source' && values.includes(source));
  return claimValues(claims, 'pipeline_source').some(
    (source) => !GITLAB_SOURCES.has(source) && !(isProtected && isNamed(source)),
  );
}
