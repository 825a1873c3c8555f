import type { EntityManager } from 'typeorm';

/** Queryable is what a statement runs on: a transaction or the database itself. */
type Queryable = Pick<EntityManager, 'query'>;

/**
 * SQL predicate: the user `u` can sign in. Either a password is set, or an enabled identity provider knows the user and can grant the admin role,
 * because each sign-in sets the roles again.
 */
const CAN_SIGN_IN = `(u.password_hash IS NOT NULL OR EXISTS (
  SELECT 1 FROM external_identity e JOIN identity_provider p ON p.id = e.provider_id
  WHERE e.user_id = u.id AND p.enabled
    AND ('admin' = ANY(p.default_roles) OR EXISTS (SELECT 1 FROM jsonb_array_elements(p.rules) r WHERE r -> 'roles' ? 'admin'))))`;

/**
 * Locks every administrator until the transaction ends, and returns the IDs of those who can sign in. This lock serializes changes that could remove
 * an administrator, so that two administrators cannot remove each other.
 */
export async function lockAdministrators(tx: EntityManager): Promise<string[]> {
  await tx.query(`SELECT id FROM user_account WHERE 'admin' = ANY(roles) ORDER BY id FOR UPDATE`);
  // A second statement, because the first one's snapshot is older than its locks.
  return administratorsWhoCanSignIn(tx);
}

/** Returns the IDs of the enabled administrators who can sign in. */
export async function administratorsWhoCanSignIn(db: Queryable): Promise<string[]> {
  const rows: { id: string }[] = await db.query(
    `SELECT u.id FROM user_account u WHERE 'admin' = ANY(u.roles) AND NOT u.disabled AND ${CAN_SIGN_IN} ORDER BY u.id`,
  );
  return rows.map(({ id }) => id);
}
