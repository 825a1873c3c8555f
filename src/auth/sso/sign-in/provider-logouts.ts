import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';
import { type ExternalEnd, SessionsService } from '../../sessions/sessions.service.js';
import { SsoTransactions } from './sso-transactions.js';

/** ProviderLogouts handles logouts at a provider. It ends sessions, denies device codes approved in them, and discards tickets not yet exchanged. */
@Injectable()
export class ProviderLogouts {
  constructor(
    private readonly db: DataSource,
    private readonly sessions: SessionsService,
    private readonly transactions: SsoTransactions,
  ) {}

  async end({ id, name }: IdentityProvider, what: Omit<ExternalEnd, 'providerId'>, origin: Origin): Promise<void> {
    const actor: Actor & { origin: Origin } = { kind: 'anonymous', id, name, origin };
    const end = { ...what, providerId: id };
    await this.db.transaction(async (tx) => {
      await this.transactions.discardArrived(tx, end);
      await this.sessions.endExternalIn(tx, actor, end);
    });
  }
}
