import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isId, uuidOf } from '../../platform/database/new-id.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { effectiveRights, type OwnedRow, ownedColumns, peopleOf, personNow } from './effective-rights.js';

interface GiverRow extends OwnedRow {
  /** Null for people: everything that they may do. */
  readonly permissions: Scope[] | null;
}

const GIVER_ID = uuidOf('$1::text');

/** $1 is the id of a person, an API key or an OAuth client. A revoked one has no rights; one that expired or was replaced keeps them. */
const GIVER = `
  SELECT NULL::text[] AS permissions, u.id::text AS owner_id, ${personNow('u.id')} AS owner, NULL AS issued_to, NULL::json AS receiver
    FROM user_account u WHERE u.id = ${GIVER_ID}
  UNION ALL SELECT k.permissions, ${ownedColumns('k')} FROM api_key k WHERE k.id = ${GIVER_ID} AND k.revoked_at IS NULL
  UNION ALL SELECT c.permissions, ${ownedColumns('c')} FROM oauth_client c WHERE c.id = ${GIVER_ID} AND c.revoked_at IS NULL`;

/**
 * The rights that somebody has now who ordered something that goes on without them, or granted something for later: schedules, rotation policies,
 * invitations. The id is that of a person, an API key or an OAuth client; the people behind a key or client count as well.
 */
@Injectable()
export class CredentialRights {
  constructor(private readonly db: DataSource) {}

  /** Undefined if disabled or revoked, or if there is no such person, key or client. */
  async of(id: string, tx: EntityManager = this.db.manager): Promise<ReadonlySet<Scope> | undefined> {
    const [row]: GiverRow[] = await tx.query(GIVER, [id]);
    return row === undefined ? undefined : effectiveRights({ people: peopleOf(row), limits: [row.permissions] });
  }

  /** Whether all of these scopes are held now. False for a disabled or unknown one, also for an empty list. */
  async holds(id: string, scopes: Iterable<Scope>, tx?: EntityManager): Promise<boolean> {
    const held = await this.of(id, tx);
    return held !== undefined && [...scopes].every((scope) => mayDo(held, scope));
  }

  /** The same, and locks the roles of the people behind it until the transaction ends. */
  async holdsUntilCommit(tx: EntityManager, id: string, scopes: Iterable<Scope>): Promise<boolean> {
    const [row]: GiverRow[] = await tx.query(GIVER, [id]);
    const people = [row?.owner_id, row?.issued_to].filter((one) => typeof one === 'string' && isId(one));
    await tx.query(`SELECT id FROM user_account WHERE id = ANY($1::uuid[]) ORDER BY id FOR SHARE`, [people]);
    return this.holds(id, scopes, tx);
  }
}
