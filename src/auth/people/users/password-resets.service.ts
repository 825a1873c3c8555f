import { consumeSealed, insertSealed, findTrusted } from '../../../platform/sealing/sealed-rows.js';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull, MoreThan } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Actor } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import { newId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Mailbox } from '../../../notifications/mail/mailbox.js';
import { secretHashOf, newSecret } from '../../model/secret-text.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';
import { IdentityProvider } from '../../model/identity-provider.entity.js';
import { PasswordReset, User } from '../../model/user.entity.js';
import { UsersService } from '../../model/users.service.js';

const GOOD_FOR_SECONDS = 3600;

/** PasswordResetsService manages links to set a new password. A link is emailed only to the account's email address. */
@Injectable()
export class PasswordResetsService {
  private readonly logger = new Logger(PasswordResetsService.name);

  constructor(
    private readonly db: DataSource,
    private readonly users: UsersService,
    private readonly audit: AuditService,
    private readonly mailbox: Mailbox,
    private readonly config: Config,
  ) {}

  /** Sends a link if the account exists, without waiting, so that neither the response nor its timing reveals whether the account exists. */
  forgot(email: string, origin: Origin): void {
    const actor = { kind: 'anonymous', id: '', name: '' } as const;
    void this.users
      .findByEmail(email)
      .then((user) =>
        user === null || user.disabled || user.passwordHash === null ? undefined : this.put(actor, user, origin),
      )
      .catch((error: unknown) => this.logger.warn(`unable to prepare a password reset: ${String(error)}`));
  }

  /**
   * Sends a link to a person at the request of an administrator. Rejects a user of an identity provider. With a password, such a user could sign in without the
   * second factor that the provider requires, even after the provider has signed the user out. If the user already has a password, the email address may belong
   * to someone else, and two people would share an account.
   *
   * @throws Problem `user.of-provider`
   */
  async send(actor: Actor, user: User, origin: Origin): Promise<void> {
    await this.assertNotOfProvider(user);
    await this.put(actor, user, origin);
  }

  private async put(actor: Actor, user: User, origin: Origin): Promise<void> {
    await this.db.transaction(async (tx) => {
      const link = await this.linkFor(tx, user);
      await this.mailbox.put(tx, {
        recipient: user.email,
        subject: 'Set a new password for Sealwright',
        text: `A new password was requested for your account. To set it, open this link within one hour:\n${link}\n\nIf you did not request this, ignore this email. Your password stays the same.\n`,
        goodForSeconds: GOOD_FOR_SECONDS,
      });
      const target = { kind: 'user', id: user.id };
      await this.audit.appendBy(tx, { ...actor, origin }, { action: 'user.password-reset-sent', target });
    });
  }

  /** Returns a link without sending it. The machine's operator passes the link on. */
  async issue(actor: Actor, user: User, origin: Origin): Promise<string> {
    return this.db.transaction(async (tx) => {
      const target = { kind: 'user', id: user.id };
      await this.audit.appendBy(tx, { ...actor, origin }, { action: 'user.password-reset-issued', target });
      return this.linkFor(tx, user);
    });
  }

  private async assertNotOfProvider({ id, email }: User): Promise<void> {
    const identity = await this.db.manager.findOneBy(ExternalIdentity, { userId: id });
    if (identity === null) return;
    const provider = await this.db.manager.findOneBy(IdentityProvider, { id: identity.providerId });
    const detail = `"${email}" signs in through the identity provider "${provider?.name ?? identity.providerId}". If the user cannot sign in there, an operator can create a link with "sealwright-admin user reset-password".`;
    throw new Problem('conflict', 'user.of-provider', detail);
  }

  private async linkFor(tx: EntityManager, user: User): Promise<string> {
    const { text, hash } = newSecret('mail');
    const expiresAt = new Date(Date.now() + GOOD_FOR_SECONDS * 1000);
    await insertSealed(tx, PasswordReset, { id: newId(), userId: user.id, tokenHash: hash, expiresAt });
    return `${this.config.publicUrl}/account#reset=${text}`;
  }

  /** Returns the user of a valid link, without consuming it. */
  async userOf(token: string): Promise<User> {
    const tx = this.db.manager;
    const open = { tokenHash: secretHashOf(token), usedAt: IsNull(), expiresAt: MoreThan(new Date()) };
    const reset = await findTrusted(tx, PasswordReset, open);
    const user = reset && (await findTrusted(tx, User, { id: reset.userId, disabled: false }));
    if (user === null) throw unusable();
    return user;
  }

  /** Consumes the link, in the transaction that sets the password and invalidates the person's other links. */
  async use(tx: EntityManager, token: string, userId: string): Promise<void> {
    const where = 't.token_hash = $1 AND t.used_at IS NULL AND t.expires_at > now()';
    const tokenHash = secretHashOf(token);
    const order = { where, set: 'used_at = now()', values: [tokenHash], is: { tokenHash, userId } };
    const [used] = await consumeSealed(tx, PasswordReset, order);
    if (used === undefined || used.expiresAt <= new Date()) throw unusable();
  }
}

function unusable(): Problem {
  return new Problem('refused', 'password.reset-link', 'This link is invalid or has expired. Request a new one.');
}
