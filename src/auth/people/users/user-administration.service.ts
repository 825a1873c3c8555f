import { sealsOf } from '../../../platform/sealing/row-seals.js';
import { assertSealed, changeSealed, findGenuine } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { Cursors, type Page } from '../../../platform/http/cursors.js';
import { filteredList, whereNamed } from '../../../platform/http/list-filter.js';
import type { PageQuery } from '../../../platform/http/page.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import type { Actor, Caller } from '../../../access/caller.js';
import { type RoleName, scopesBeyond, scopesOf } from '../../../access/scopes.js';
import { stillMay } from '../../rights/still-may.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { lockAdministrators } from './administrators.js';
import { InvitationRights } from './invitation-rights.js';
import { User } from '../../model/user.entity.js';

export interface UserChange {
  readonly roles?: readonly RoleName[];
  readonly disabled?: boolean;
}

/** UserWithProviders is a user with the names of the identity providers through which the user signs in. The name of a deleted provider is `removed`. */
export type UserWithProviders = User & { readonly providers: string[] };

/** The machine's operator. */
type Operator = Actor & { readonly kind: 'system' } & Pick<Caller, 'scopes' | 'origin'>;

/** UserAdministrationService administers the accounts of other users. Administrators never see or choose a password. */
@Injectable()
export class UserAdministrationService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly sessions: SessionsService,
    private readonly invitations: InvitationRights,
  ) {}

  /** Returns users, newest first. @param email an address, or a prefix followed by `*` */
  async list({ limit, cursor, email }: PageQuery & { email?: string }): Promise<Page<UserWithProviders>> {
    const query = this.db.createQueryBuilder(User, 'user');
    whereNamed(query, 'email', email?.toLowerCase());
    const page = await this.cursors.newest(filteredList('users', { email }), query, { limit, cursor });
    return { ...page, items: await this.withProviders(page.items) };
  }

  async read(id: string): Promise<UserWithProviders> {
    const user = await this.db.manager.findOneBy(User, { id });
    const [found] = await this.withProviders(user === null ? [] : [user]);
    if (found === undefined) throw missing('user');
    return found;
  }

  private async withProviders(users: readonly User[]): Promise<UserWithProviders[]> {
    const rows: { user_id: string; name: string }[] = await this.db.query(
      `SELECT e.user_id, coalesce(p.name, 'removed') AS name FROM external_identity e
       LEFT JOIN identity_provider p ON p.id = e.provider_id WHERE e.user_id = ANY($1::uuid[]) ORDER BY name`,
      [users.map(({ id }) => id)],
    );
    const byUser = Map.groupBy(rows, ({ user_id }) => user_id);
    return users.map((user) => Object.assign(user, { providers: (byUser.get(user.id) ?? []).map(({ name }) => name) }));
  }

  /**
   * Returns a user for an operation that depends on the roles or the email address of the user.
   *
   * @throws Problem `row.not-sealed` for an account that was modified directly in the database
   */
  async readGenuine(id: string): Promise<User> {
    const user = await findGenuine(this.db.manager, User, { id });
    if (user === null) throw missing('user');
    return user;
  }

  /** Sets roles, or disables or enables a user. All sessions, tokens and keys of a disabled user are rejected within five seconds. */
  async change(caller: Caller | Operator, id: string, change: UserChange): Promise<User> {
    await sealsOf(this.db.manager).catchUp();
    return this.db.transaction(async (tx) => {
      // Serializes changes to administrators, so that two administrators cannot remove each other.
      const administrators = await lockAdministrators(tx);
      const user = await tx.findOne(User, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (user === null || assertSealed(tx, User, user) === null) throw missing('user');
      // The caller may have just been disabled or demoted, and must not be able to undo that change.
      const now = caller.kind === 'system' ? caller : await stillMay(tx, caller);
      assertMayGrant(now, user.roles);
      assertMayGrant(now, change.roles ?? []);
      if (caller.kind !== 'system') await assertRolesRemain(tx, user, change);
      const roles = [...(change.roles ?? user.roles)];
      const disabled = change.disabled ?? user.disabled;
      const staysAdministrator = roles.includes('admin') && !disabled;
      const isLast = administrators.includes(id) && administrators.length === 1 && !staysAdministrator;
      // The operator can create another administrator.
      if (isLast && caller.kind !== 'system') throw lastAdministrator();
      await changeSealed(tx, User, { id }, { roles, disabled });
      if (disabled && !user.disabled) {
        await this.sessions.endAllIn(tx, caller, { userId: id, because: 'user-disabled' });
      }
      await this.invitations.revokeUngrantable(tx, caller, id);
      const detail = { roles: change.roles, disabled: change.disabled };
      const target = { kind: 'user', id };
      await this.audit.appendBy(tx, caller, { action: 'user.changed', target, detail });
      return tx.findOneByOrFail(User, { id });
    });
  }
}

/**
 * Rejects a change to the roles of a user whose identity provider sets the roles again at the next sign-in. The machine's operator may change the roles, which
 * then apply until the next sign-in.
 *
 * @throws Problem 409 `user.of-provider`
 */
async function assertRolesRemain(
  tx: EntityManager,
  { id, email, roles: before }: User,
  { roles }: UserChange,
): Promise<void> {
  if (roles === undefined || [...roles].sort().join() === [...before].sort().join()) return;
  const [provider]: { name: string }[] = await tx.query(
    `SELECT p.name FROM external_identity e JOIN identity_provider p ON p.id = e.provider_id WHERE e.user_id = $1 LIMIT 1`,
    [id],
  );
  if (provider === undefined) return;
  const detail = `The identity provider "${provider.name}" sets the roles of "${email}" at every sign-in. Change the user's groups at the provider or the provider's rules, or disable the account.`;
  throw new Problem('conflict', 'user.of-provider', detail);
}

function lastAdministrator(): Problem {
  const detail = 'At least one administrator who can sign in must remain. First grant the admin role to another user.';
  return new Problem('conflict', 'user.last-administrator', detail);
}

/**
 * Verifies that the caller has every scope of the roles. Callers can grant only scopes that they have, and cannot change a user who has a scope that they do
 * not have.
 */
export function assertMayGrant(caller: Pick<Caller, 'scopes'>, roles: readonly RoleName[]): void {
  const beyond = scopesBeyond(caller.scopes, scopesOf(roles));
  if (beyond.length === 0) return;
  throw new Problem(
    'forbidden',
    'user.beyond-caller',
    `You cannot grant or revoke permissions that you do not have: ${beyond.join(', ')}.`,
  );
}
