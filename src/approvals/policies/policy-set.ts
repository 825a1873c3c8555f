import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import { changeSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { ApprovalPolicy, ApprovalPolicyRevision } from './approval-policy.entity.js';

/**
 * Returns the policies, after verifying that each row matches its seal and that together the rows are the set that the service wrote last. Otherwise, a policy
 * was deleted, added, changed or restored outside the service. The evaluation then fails, so that nothing is signed without a required approval.
 *
 * @throws Problem `approval-policy.changed`
 */
export function assertPolicySet(
  tx: EntityManager,
  revision: ApprovalPolicyRevision | null,
  policies: readonly ApprovalPolicy[],
): readonly ApprovalPolicy[] {
  const seals = sealsOf(tx);
  const set = seals.trusted(ApprovalPolicyRevision, revision);
  const known = policies.filter((policy) => seals.trusted(ApprovalPolicy, policy) !== null);
  const isWhole = set !== null && known.length === policies.length && sameSet(set.policies ?? [], known);
  // An earlier version, which may still run during an upgrade, does not maintain the set.
  if (isWhole || !seals.demandsSealOf(ApprovalPolicyRevision)) return policies;
  if (set !== null) seals.report(ApprovalPolicyRevision, set);
  const detail =
    'The approval policies were modified outside the service, directly in the database. An operator must run "sealwright-admin doctor", and restore the policies or accept them with "sealwright-admin seal-rows".';
  throw new Problem('unavailable', 'approval-policy.changed', detail);
}

/** Locks the policy set until the transaction ends, which serializes policy changes, and verifies the set. */
export async function lockPolicySet(tx: EntityManager): Promise<ApprovalPolicyRevision> {
  const row = await lockSealed(tx, ApprovalPolicyRevision, { only: true });
  if (row === null) throw new Error('approval_policy_revision has no row');
  assertPolicySet(tx, row, await tx.find(ApprovalPolicy));
  return row;
}

/** Increments the revision and seals the current policies. */
export async function storePolicySet(tx: EntityManager, { revision }: ApprovalPolicyRevision): Promise<void> {
  const policies = membersOf(await tx.find(ApprovalPolicy));
  await changeSealed(tx, ApprovalPolicyRevision, { only: true }, { revision: revision + 1, policies });
}

function sameSet(set: readonly string[], policies: readonly ApprovalPolicy[]): boolean {
  return [...set].sort().join() === membersOf(policies).join();
}

function membersOf(policies: readonly ApprovalPolicy[]): string[] {
  return policies.map(({ id, revision }) => `${id} ${revision}`).sort();
}
