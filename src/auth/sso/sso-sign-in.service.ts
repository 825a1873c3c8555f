import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import { newId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/http/problem.js';
import { TokenGrants, type Tokens } from '../tokens/token-grants.js';
import { User } from '../users/user.entity.js';
import { canonical } from '../users/users.service.js';
import { type Claims, rolesOf, textOf } from './claim-rules.js';
import { ExternalIdentity } from './external-identity.entity.js';
import { IdentityProvider } from './identity-provider.entity.js';
import { SsoTransactions } from './sso-transactions.js';

/** What a provider says of somebody, once its word was checked. */
export interface Assertion {
  readonly transactionId: string;
  readonly provider: IdentityProvider;
  /** The provider's lasting name for the person. */
  readonly subject: string;
  readonly claims: Claims;
  readonly methods: string[];
  readonly externalSession: string | null;
}

/** Where every single sign-on ends: who is it here, what may they do, and the ticket for their tokens. */
@Injectable()
export class SsoSignInService {
  constructor(
    private readonly db: DataSource,
    private readonly transactions: SsoTransactions,
    private readonly grants: TokenGrants,
    private readonly audit: AuditService,
  ) {}

  /** Takes an answer, once. Makes the person an account at their first sign-in, and sets their roles at every one. */
  async arrived(assertion: Assertion, origin: Origin): Promise<string> {
    const { provider, claims } = assertion;
    const roles = rolesOf(claims, provider.rules, provider.defaultRoles);
    return this.db.transaction(async (tx) => {
      const ticket = await this.transactions.arrive(tx, assertion.transactionId);
      if (roles === undefined) {
        throw new Problem('forbidden', 'sso.no-role', 'No rule of this identity provider gives you a role here.');
      }
      const user = (await this.known(tx, assertion)) ?? (await this.newcomer(tx, assertion, origin));
      if (user.disabled) throw new Problem('forbidden', 'sso.disabled', 'This account is disabled.');
      if ([...roles].sort().join() !== [...user.roles].sort().join()) {
        await tx.update(User, { id: user.id }, { roles });
        await this.record(tx, user, 'user.roles-from-provider', origin, { provider: provider.name, roles });
      }
      const { methods, externalSession } = assertion;
      await this.transactions.note(tx, assertion.transactionId, { userId: user.id, methods, externalSession });
      return ticket;
    });
  }

  /** Tokens for a ticket, in the browser that began. */
  async tokens(ticket: string, browser: string | undefined, origin: Origin): Promise<Tokens> {
    const { userId, providerId, methods, externalSession } = await this.transactions.redeem(ticket, browser);
    const user = await this.db.manager.findOneBy(User, { id: userId, disabled: false });
    const provider = await this.db.manager.findOneBy(IdentityProvider, { id: providerId, enabled: true });
    if (user === null || provider === null) {
      throw new Problem('forbidden', 'sso.disabled', 'This account or this provider is disabled.');
    }
    const external = { providerId, session: externalSession };
    return this.grants.forPerson({ user, way: provider.kind, methods, external }, origin);
  }

  private async known(tx: EntityManager, { provider, subject }: Assertion): Promise<User | null> {
    const identity = await tx.findOneBy(ExternalIdentity, { providerId: provider.id, subject });
    return identity === null ? null : tx.findOneBy(User, { id: identity.userId });
  }

  /** The e-mail address never decides who somebody is: an account that has it already is somebody else's. */
  private async newcomer(tx: EntityManager, { provider, subject, claims }: Assertion, origin: Origin): Promise<User> {
    const address = textOf(claims, 'email', 'mail', 'urn:oid:0.9.2342.19200300.100.1.3');
    if (address === undefined || !/^[^\s@]+@[^\s@]+$/.test(address)) {
      throw new Problem('forbidden', 'sso.no-address', 'The identity provider did not tell an e-mail address.');
    }
    const id = newId();
    const added: unknown[] = await tx.query(
      `INSERT INTO user_account (id, email, roles) VALUES ($1, $2, '{}') ON CONFLICT DO NOTHING RETURNING id`,
      [id, canonical(address)],
    );
    if (added.length === 0) {
      const detail = 'There is an account with your e-mail address that does not belong to this identity provider.';
      throw new Problem('forbidden', 'sso.address-taken', detail);
    }
    await tx.insert(ExternalIdentity, { providerId: provider.id, subject, userId: id });
    const user = await tx.findOneByOrFail(User, { id });
    await this.record(tx, user, 'user.created', origin, { provider: provider.name });
    return user;
  }

  private async record(
    tx: EntityManager,
    { id, email }: User,
    action: string,
    { requestId: correlation, address: source }: Origin,
    detail: Record<string, unknown>,
  ): Promise<void> {
    const actor = { kind: 'user', id, name: email } as const;
    await this.audit.append(tx, [{ action, actor, target: { kind: 'user', id }, correlation, source, detail }]);
  }
}
