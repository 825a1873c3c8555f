import { insertSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { Config } from '../../../platform/config/config.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { Mailbox } from '../../../notifications/mail/mailbox.js';
import { type Caller, othersBehindOrder } from '../../../access/caller.js';
import type { RoleName } from '../../../access/scopes.js';
import { newSecret } from '../../model/secret-text.js';
import { Invitation } from './invitation.entity.js';
import { assertMayGrant } from './user-administration.service.js';
import { User } from '../../model/user.entity.js';
import { canonical } from '../../model/users.service.js';

const GOOD_FOR_DAYS = 7;
const GOOD_FOR_SECONDS = GOOD_FOR_DAYS * 24 * 3600;

/** InvitationsService invites users. The link is sent to the user's email address, and the user sets the password. */
@Injectable()
export class InvitationsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly mailbox: Mailbox,
    private readonly config: Config,
    private readonly idempotency: IdempotencyKeys,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('invitation');
  }

  /**
   * Sends an invitation to an email address, and revokes any earlier invitation to the same address. Anyone with the link can use the invitation, so the link
   * is returned only if email delivery is not configured.
   */
  async invite(
    caller: Caller,
    { email: address, roles }: { readonly email: string; readonly roles: readonly RoleName[] },
    use?: IdempotentUse,
  ): Promise<{ row: Invitation; link: string | undefined }> {
    assertMayGrant(caller, roles);
    const email = canonical(address);
    const { text, hash } = newSecret('mail');
    const link = `${this.config.publicUrl}/account#invitation=${text}`;
    const row = await this.db.transaction(async (tx) => {
      await this.idempotency.assertFirst(tx, use, () => '/api/settings/invitations');
      if (await tx.existsBy(User, { email })) {
        throw new Problem('conflict', 'user.exists', 'An account with this email address already exists.');
      }
      await tx.update(
        Invitation,
        { email, acceptedAt: IsNull(), revokedAt: IsNull() },
        { revokedAt: () => 'now()', seal: null },
      );
      const id = use?.resource ?? newId();
      const expiresAt = new Date(Date.now() + GOOD_FOR_SECONDS * 1000);
      const by = {
        invitedBy: caller.name,
        inviterId: caller.id,
        inviterPerson: caller.ownerId,
        inviterBehind: othersBehindOrder(caller),
      };
      await insertSealed(tx, Invitation, { id, email, roles: [...roles], tokenHash: hash, ...by, expiresAt });
      await this.mailbox.put(tx, invitationMail(email, caller.name, link));
      await this.record(tx, caller, 'user.invited', id, { roles });
      return tx.findOneByOrFail(Invitation, { id });
    });
    return { row, link: this.config.sendsMail ? undefined : link };
  }

  async revoke(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.update(
        Invitation,
        { id, acceptedAt: IsNull(), revokedAt: IsNull() },
        { revokedAt: () => 'now()', seal: null },
      );
      if (affected !== 1) throw missing('invitation');
      await this.record(tx, caller, 'user.invitation-revoked', id);
    });
  }
}

function invitationMail(recipient: string, by: string, link: string) {
  return {
    recipient,
    subject: 'Your invitation to Sealwright',
    text: `${by} has invited you to Sealwright.\n\nTo accept, open this link within ${GOOD_FOR_DAYS} days and set a password:\n${link}\n\nIf you did not expect this invitation, ignore this email.\n`,
    goodForSeconds: GOOD_FOR_SECONDS,
  };
}
