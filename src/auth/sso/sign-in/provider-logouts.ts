import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';
import { lockTokens } from '../../credentials/sessions/session-grounds.js';
import { type ExternalEnd, SessionsService } from '../../credentials/sessions/sessions.service.js';
import { SsoTransactions } from './sso-transactions.js';

/**
 * ProviderLogouts handles logouts at a provider. It ends sessions, denies device codes approved in these sessions, discards tickets not yet exchanged, and
 * cancels sign-ins in progress.
 */
@Injectable()
export class ProviderLogouts {
  constructor(
    private readonly db: DataSource,
    private readonly sessions: SessionsService,
    private readonly transactions: SsoTransactions,
  ) {}

  /** Handles a logout. Returns whether a session ended. */
  async end({ id, name }: IdentityProvider, what: Omit<ExternalEnd, 'providerId'>, origin: Origin): Promise<boolean> {
    const actor: Actor & { origin: Origin } = { kind: 'anonymous', id, name, origin };
    const end = { ...what, providerId: id };
    return this.db.transaction(async (tx) => {
      // Once the lock is held, a ticket that was being exchanged has been exchanged for a session, or will be refused.
      await lockTokens(tx, 'identity provider', id);
      await this.transactions.discardArrived(tx, end);
      return this.sessions.endExternalIn(tx, actor, end);
    });
  }
}
