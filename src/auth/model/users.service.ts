import { changeSealed, sealedRow, findTrusted } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import type { RoleName } from '../../access/scopes.js';
import { addressName, sealsOf } from '../../platform/sealing/row-seals.js';
import { Passwords } from './passwords.js';
import { User } from './user.entity.js';

export interface NewUser {
  readonly email: string;
  readonly password: string;
  readonly roles: RoleName[];
}

/** UsersService manages user accounts. */
@Injectable()
export class UsersService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly passwords: Passwords,
  ) {}

  /** Creates a user. Returns undefined if the address is taken. `rolesInstead` can replace the requested roles, or throw, in the same transaction. */
  async create(
    actor: Actor,
    order: NewUser,
    correlation: string,
    rolesInstead?: (tx: EntityManager) => Promise<RoleName[] | undefined>,
  ): Promise<User | undefined> {
    const email = canonical(order.email);
    const passwordHash = await this.passwords.hash(order.password);
    return this.db.transaction(async (tx) => {
      const id = newId();
      const roles = (await rolesInstead?.(tx)) ?? order.roles;
      if (!(await insertUser(tx, { id, email, passwordHash, roles }))) return undefined;
      const target = { kind: 'user', id };
      const detail = { roles, addressSha256: addressName(email) };
      await this.audit.append(tx, [{ action: 'user.created', actor, target, correlation, detail }]);
      const created = await findTrusted(tx, User, { id, email, passwordHash });
      if (created === null) throw new Error('the account that was read differs from the account that was inserted');
      return created;
    });
  }

  async findByEmail(email: string): Promise<User | null> {
    const found = await findTrusted(this.db.manager, User, { email: canonical(email) });
    return sealsOf(this.db.manager).remember(User, found);
  }

  /**
   * Rehashes the same password with the current parameters of `Passwords.hash` and updates `user`. Does nothing if the password was changed in the meantime. If
   * a concurrent sign-in has already rehashed the password, `user` gets that hash.
   */
  async replaceHash(user: User, password: string): Promise<void> {
    const passwordHash = await this.passwords.hash(password);
    const known = { id: user.id, passwordHash: user.passwordHash ?? '' };
    if ((await changeSealed(this.db.manager, User, known, { passwordHash })) === 1) user.passwordHash = passwordHash;
    else await this.takeOver(user, password);
  }

  private async takeOver(user: User, password: string): Promise<void> {
    const now = await findTrusted(this.db.manager, User, { id: user.id });
    const verdict = await this.passwords.verify(now?.passwordHash ?? undefined, password);
    if (now !== null && verdict === 'match') user.passwordHash = now.passwordHash;
  }

  /** Reports whether the audit entries in the database record the creation of an account. */
  async isLogged(): Promise<boolean> {
    const found: unknown[] = await this.db.query(`SELECT 1 FROM audit_entry WHERE action = 'user.created' LIMIT 1`);
    return found.length > 0;
  }

  async isEmpty(): Promise<boolean> {
    return !(await this.db.manager.exists(User));
  }
}

/**
 * Inserts an account without second factors. Returns false if the address is taken.
 *
 * @param names other names under which the log may contain the account
 * @throws Problem `row.not-sealed` if the log already contains the account, whose row was deleted directly in the database
 */
export async function insertUser(
  tx: EntityManager,
  account: Pick<User, 'id' | 'email' | 'passwordHash' | 'roles'>,
  ...names: readonly string[]
): Promise<boolean> {
  const { id, email, passwordHash, roles, factors, seal } = sealedRow(tx, User, { ...account, factors: [] });
  const added: unknown[] = await tx.query(
    `INSERT INTO user_account (id, email, password_hash, roles, factors, seal) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id`,
    [id, email, passwordHash, roles, factors, seal],
  );
  if (added.length === 1) await sealsOf(tx).assertNoAccount(addressName(account.email), ...names);
  return added.length === 1;
}

/**
 * Maximum length of a string that is normalized as an email address. Addresses have at most 254 characters, each of which has at most four code units
 * before normalization.
 */
const MAX_ADDRESS_TEXT = 1016;

/**
 * canonical returns the form in which email addresses are compared, so that one person cannot have two accounts. The second normalization is needed because
 * lowercase letters may compose differently. The result is empty for strings longer than MAX_ADDRESS_TEXT, which are not addresses, because the time to sort
 * combining marks grows quadratically with their number.
 */
export function canonical(email: string): string {
  if (email.length > MAX_ADDRESS_TEXT) return '';
  return email.normalize('NFKC').trim().toLowerCase().normalize('NFKC');
}
