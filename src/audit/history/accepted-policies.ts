import type { EntityManager } from 'typeorm';

/**
 * The approval policies as an entry `rows.accepted` or `rows.adopted` names them: from then on they are those of the log. `policies`: id and revision of
 * each. `tables`: the tables whose rows were accepted; without policies among them nothing is named.
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
