import { changeSealed, findGenuine } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Actor } from '../../../access/caller.js';
import type { RoleName } from '../../../access/scopes.js';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import type { Origin } from '../../../platform/http/origin.js';
import { ApiKeysService } from '../../credentials/api-keys/api-keys.service.js';
import { User } from '../../model/user.entity.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { lockAdministrators } from '../../people/users/administrators.js';
import { InvitationRights } from '../../people/users/invitation-rights.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';

/** ProvidedIdentity is a provider's description of a person at one sign-in. */
export interface ProvidedIdentity {
  readonly provider: { readonly id: string; readonly name: string };
  readonly subject: string;
  readonly groups: readonly string[];
}

type By = Actor & { readonly origin: Origin };

/** ProvidedRights updates the roles and groups of a user at each sign-in through an identity provider. */
@Injectable()
export class ProvidedRights {
  private readonly record: EntryRecorder;

  constructor(
    private readonly sessions: SessionsService,
    private readonly apiKeys: ApiKeysService,
    private readonly invitations: InvitationRights,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('user');
  }

  /**
   * Stores the roles and groups that a sign-in provides. The last administrator who can sign in keeps the admin role. The change applies to open sessions
   * immediately.
   */
  async apply(
    tx: EntityManager,
    user: User,
    identity: ProvidedIdentity,
    { roles, origin }: { readonly roles: readonly RoleName[]; readonly origin: Origin },
  ): Promise<void> {
    await this.storeGroups(tx, identity, byOf(user, origin));
    const isLast = await isLastAdministrator(tx, user, roles);
    await this.setRoles(tx, user, identity, {
      roles: isLast ? [...roles, 'admin'] : roles,
      isLast,
      by: byOf(user, origin),
    });
  }

  /**
   * Withdraws the roles, groups, sessions, refresh tokens, approved device codes and API keys of a user to whom the provider grants no role. The last
   * administrator keeps the admin role if the account has a password, which allows a sign-in without the provider.
   */
  async withdraw(tx: EntityManager, user: User, identity: ProvidedIdentity, origin: Origin): Promise<void> {
    const { id, name } = identity.provider;
    // Attributed to the provider, because a disabled person cannot perform actions.
    const by = { kind: 'anonymous', id, name, origin } as const;
    await this.storeGroups(tx, { ...identity, groups: [] }, by);
    const isLast = user.passwordHash !== null && (await isLastAdministrator(tx, user, []));
    await this.setRoles(tx, user, identity, { roles: isLast ? ['admin'] : [], isLast, by });
    await this.sessions.endAllIn(tx, by, { userId: user.id, because: 'no-role-at-provider' });
    await this.apiKeys.revokeAllIn(tx, by, user.id, 'no-role-at-provider');
  }

  /** Drops the person's credentials from this process's cache. Call this method after the change has been committed. */
  async forget(userId: string): Promise<void> {
    await this.sessions.forgetAllOf(userId);
    await this.apiKeys.forgetAllOf(userId);
  }

  private async storeGroups(tx: EntityManager, { provider, subject, groups }: ProvidedIdentity, by: By): Promise<void> {
    const where = { providerId: provider.id, subject };
    const identity = await findGenuine(tx, ExternalIdentity, where);
    if (identity === null || [...identity.groups].sort().join('\n') === [...groups].sort().join('\n')) return;
    await changeSealed(tx, ExternalIdentity, where, { groups: [...groups] });
    const detail = { provider: provider.name, groups };
    await this.record(tx, by, 'user.groups-from-provider', identity.userId, detail);
  }

  private async setRoles(
    tx: EntityManager,
    user: User,
    { provider }: ProvidedIdentity,
    { roles, isLast, by }: { readonly roles: readonly RoleName[]; readonly isLast: boolean; readonly by: By },
  ): Promise<void> {
    if ([...roles].sort().join() === [...user.roles].sort().join()) return;
    await changeSealed(tx, User, { id: user.id }, { roles: [...roles] });
    const kept = isLast ? { kept: 'last-administrator' } : {};
    const detail = { provider: provider.name, before: user.roles, roles, ...kept };
    await this.record(tx, by, 'user.roles-from-provider', user.id, detail);
    await this.invitations.revokeUngrantable(tx, by, user.id);
  }
}

/** Maximum total length of a user's group names at a provider, in characters. The names are stored in the audit log and in the memory of every process. */
const MAX_GROUP_CHARACTERS = 16_384;

/** keptGroups returns the groups of a sign-in up to MAX_GROUP_CHARACTERS, giving priority to groups that are members of an approver group. */
export async function keptGroups(tx: EntityManager, providerId: string, groups: readonly string[]): Promise<string[]> {
  const rows: { name: string }[] = await tx.query(
    `SELECT DISTINCT sso_group AS name FROM approver_group_member WHERE provider_id = $1 AND sso_group = ANY($2)`,
    [providerId, groups],
  );
  const named = new Set(rows.map(({ name }) => name));
  let left = MAX_GROUP_CHARACTERS;
  return groups
    .toSorted((a, b) => Number(named.has(b)) - Number(named.has(a)))
    .filter((group) => (left -= group.length) >= 0);
}

function byOf({ id, email: name }: User, origin: Origin): By {
  return { kind: 'user', id, name, origin };
}

/** Reports whether these roles would remove the last administrator who can sign in. */
async function isLastAdministrator(tx: EntityManager, user: User, roles: readonly RoleName[]): Promise<boolean> {
  if (!user.roles.includes('admin') || roles.includes('admin')) return false;
  const administrators = await lockAdministrators(tx);
  return administrators.every((id) => id === user.id);
}
