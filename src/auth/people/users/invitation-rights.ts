import { consumeSealed, findTrusted } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { type EntityManager, IsNull } from 'typeorm';
import { Invitation } from './invitation.entity.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Actor } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import { CredentialRights } from '../../rights/credential-rights.js';
import { type RoleName, type Scope, scopesOf } from '../../../access/scopes.js';
import { secretHashOf } from '../../model/secret-text.js';
import { canonical } from '../../model/users.service.js';

interface OpenInvitation {
  readonly id: string;
  readonly roles: RoleName[];
  readonly inviter_id: string | null;
}

/**
 * InvitationRights enforces that an invitation grants only the roles that its inviter may grant, both while the invitation is open and when the invitation is
 * accepted.
 */
@Injectable()
export class InvitationRights {
  constructor(
    private readonly rights: CredentialRights,
    private readonly audit: AuditService,
  ) {}

  /**
   * Consumes an invitation in the transaction that creates the account. Returns undefined if the invitation is invalid, for example because the inviter can no
   * longer grant its roles.
   */
  async accept(tx: EntityManager, token: string, email: string): Promise<RoleName[] | undefined> {
    const place = {
      tokenHash: secretHashOf(token),
      email: canonical(email),
      acceptedAt: IsNull(),
      revokedAt: IsNull(),
    };
    const row = await findTrusted(tx, Invitation, place);
    if (row === null || row.inviterId === null) return undefined;
    for (const id of [row.inviterId, ...(row.inviterBehind ?? [])]) {
      if (!(await this.rights.holdsUntilCommit(tx, id, wanted(row.roles)))) return undefined;
    }
    const where = 't.id = $1 AND t.accepted_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > now()';
    const order = { where, set: 'accepted_at = now()', values: [row.id], is: { id: row.id } };
    const [accepted] = await consumeSealed(tx, Invitation, order);
    const isOpen = accepted !== undefined && accepted.expiresAt > new Date();
    return isOpen ? accepted.roles : undefined;
  }

  /** Revokes the open invitations of a user whose roles were changed, if the user can no longer grant the roles in the invitation. */
  async revokeUngrantable(tx: EntityManager, by: Actor & { origin: Origin }, personId: string): Promise<void> {
    const open: OpenInvitation[] = await tx.query(
      `SELECT id, roles, inviter_id FROM invitation
       WHERE inviter_person = $1 AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now() ORDER BY id FOR UPDATE`,
      [personId],
    );
    // One lookup per combination of inviter and roles, so that many open invitations do not delay disabling a user.
    const alike = Map.groupBy(open, ({ inviter_id: inviter, roles }) => JSON.stringify([inviter, roles]));
    for (const invitations of alike.values()) {
      const [{ inviter_id: inviter, roles } = { inviter_id: null, roles: [] }] = invitations;
      if (inviter !== null && (await this.rights.holds(inviter, wanted(roles), tx))) continue;
      const ids = invitations.map(({ id }) => id);
      await tx.query(`UPDATE invitation SET revoked_at = now(), seal = NULL WHERE id = ANY($1)`, [ids]);
      const effect = { action: 'user.invitation-revoked', detail: { because: 'inviter-rights' } };
      const entries = ids.map((id) => ({ ...effect, target: { kind: 'invitation', id } }));
      await this.audit.appendAllBy(tx, by, entries);
    }
  }
}

/** Returns the scopes required to grant these roles. */
function wanted(roles: readonly RoleName[]): Scope[] {
  return ['users:write', ...scopesOf(roles)];
}
