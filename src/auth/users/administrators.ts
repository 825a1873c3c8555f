import type { EntityManager } from 'typeorm';

/** Ids of those who can administer the service. Whoever changes one waits for whoever has asked before, so that two cannot remove each other. */
export async function lockAdministrators(tx: EntityManager): Promise<string[]> {
  const rows: { id: string }[] = await tx.query(
    `SELECT id FROM user_account WHERE 'admin' = ANY(roles) AND NOT disabled ORDER BY id FOR UPDATE`,
  );
  return rows.map(({ id }) => id);
}
