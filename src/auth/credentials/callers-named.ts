import type { DataSource } from 'typeorm';
import { uuidOf } from '../../platform/database/new-id.js';

/** MAX_CALLERS_NAMED is the maximum number of callers with the same name by which a list can be filtered. A rotated API key keeps its name. */
export const MAX_CALLERS_NAMED = 100;

/**
 * callersNamed returns the IDs of the user with this email address and of the API keys and OAuth clients with this name, including revoked keys and clients.
 *
 * @param owner ID of the only person whose account and credentials are searched
 * @returns at most MAX_CALLERS_NAMED + 1 IDs
 */
export async function callersNamed(db: DataSource, name: string, owner: string | undefined): Promise<string[]> {
  const rows: { id: string }[] = await db.query(
    `(SELECT id FROM user_account WHERE email = lower($1) AND ($2::text IS NULL OR id = ${uuidOf('$2')}) LIMIT $3)
     UNION ALL (SELECT id FROM api_key WHERE name = $1 AND ($2::text IS NULL OR owner_id = $2) LIMIT $3)
     UNION ALL (SELECT id FROM oauth_client WHERE name = $1 AND ($2::text IS NULL OR owner_id = $2) LIMIT $3) LIMIT $3`,
    [name, owner ?? null, MAX_CALLERS_NAMED + 1],
  );
  return rows.map(({ id }) => id);
}
