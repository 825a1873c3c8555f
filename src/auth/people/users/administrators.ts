import type { EntityManager } from 'typeorm';
import { sealsOf } from '../../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../../platform/sealing/row-text.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';
import { IdentityProvider } from '../../model/identity-provider.entity.js';
import { User } from '../../model/user.entity.js';

interface AdministratorRows {
  readonly person: JsonRow;
  readonly identity: JsonRow | null;
  readonly provider: JsonRow | null;
}

/**
 * Locks the accounts of all administrators until the transaction ends, and returns the IDs of the administrators who can sign in. The lock serializes changes
 * that could remove an administrator, so that two administrators cannot remove each other.
 */
export async function lockAdministrators(tx: EntityManager): Promise<string[]> {
  await tx.query(`SELECT id FROM user_account WHERE 'admin' = ANY(roles) ORDER BY id FOR UPDATE`);
  // A second statement reads the rows, because the snapshot of the first statement is older than its locks.
  return administratorsWhoCanSignIn(tx);
}

/**
 * Returns the IDs of the enabled administrators who can sign in, excluding accounts that were modified directly in the database.
 *
 * @throws Problem `audit-log.incomplete` while the audit log has a fault
 */
export async function administratorsWhoCanSignIn(tx: EntityManager): Promise<string[]> {
  const rows: AdministratorRows[] = await tx.query(
    `SELECT to_jsonb(u) AS person, to_jsonb(e) AS identity, to_jsonb(p) AS provider FROM user_account u
     LEFT JOIN external_identity e ON e.user_id = u.id LEFT JOIN identity_provider p ON p.id = e.provider_id
     WHERE 'admin' = ANY(u.roles) AND NOT u.disabled ORDER BY u.id`,
  );
  return [...new Set(rows.flatMap((row) => administratorIn(tx, row) ?? []))];
}

/**
 * Returns the administrator's ID if the administrator can sign in: a password is set, or the administrator has an identity at an enabled identity provider
 * whose rules can grant the admin role. Each sign-in through a provider reassigns the user's roles according to the provider's rules.
 */
function administratorIn(tx: EntityManager, row: AdministratorRows): string | undefined {
  const seals = sealsOf(tx);
  const person = seals.opened(User, row.person);
  if (person === null || person.disabled || !person.roles.includes('admin')) return undefined;
  if (person.passwordHash !== null) return person.id;
  const identity = seals.opened(ExternalIdentity, row.identity);
  const provider = seals.opened(IdentityProvider, row.provider);
  if (identity?.userId !== person.id || provider?.enabled !== true || provider.id !== identity.providerId)
    return undefined;
  const roles = [provider.defaultRoles ?? [], ...provider.rules.map((rule) => rule.roles)].flat();
  return roles.includes('admin') ? person.id : undefined;
}
