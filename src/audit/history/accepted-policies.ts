import type { EntityManager } from 'typeorm';

/**
 * acceptedPolicies returns the approval policies in the database, for the detail of an entry `rows.accepted` or `rows.adopted`. The entry replaces the
 * logged policies. `policies` contains the ID and the revision of each policy.
 *
 * @param tables the tables whose rows were accepted; the result is empty if no table of policies is among them
 */
export async function acceptedPolicies(
  tx: Pick<EntityManager, 'query'>,
  tables: readonly string[],
): Promise<{ readonly policySet?: number; readonly policies?: readonly string[] }> {
  if (!tables.includes('approval_policy') && !tables.includes('approval_policy_revision')) return {};
  const [row]: { policySet: number; policies: string[] }[] = await tx.query(
    `SELECT revision AS "policySet", coalesce(policies, '{}') AS policies FROM approval_policy_revision`,
  );
  return row ?? {};
}
