import { assertSealed, changeSealed, insertSealed, trusted } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { SignedInPerson } from '../../tokens/token-grants.js';
import { lockAdministrators } from '../../users/user-administration.service.js';
import { InvitationRights } from '../../users/invitation-rights.js';
import { User } from '../../model/user.entity.js';
import { insertUser } from '../../model/users.service.js';
import type { RoleName } from '../../../access/scopes.js';
import { Session } from '../../model/session.entity.js';
import type { Claims } from '../../../access/identity/verified-identity.js';
import { addressOf, groupsOf, rolesOf } from '../providers/claim-rules.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';
import type { SsoTransaction } from './sso.entity.js';
import { IdentityProvider } from '../../model/identity-provider.entity.js';
import { beganAt, SsoTransactions } from './sso-transactions.js';

/** A verified assertion of a provider about a person. */
export interface Assertion {
  readonly transactionId: string;
  readonly provider: IdentityProvider;
  /** The provider's permanent identifier of the person. */
  readonly subject: string;
  readonly claims: Claims;
  readonly methods: string[];
  readonly externalSession: string | null;
  /** Hint for a logout at the provider: the ID token of OIDC as it was received, the NameID of SAML as JSON. */
  readonly logoutHint: string | null;
  /** When the person authenticated at the provider; null if it does not say. */
  readonly authenticatedAt: Date | null;
}

/** The person who returned from a provider. */
export interface Returned {
  readonly person: SignedInPerson & { readonly authenticatedAt: Date };
  readonly returnTo: string;
  /** The session that was stepped up; null for a new one. */
  readonly sessionId: string | null;
}

/** Verifies the provider's response; throws if it cannot be trusted. */
type Answer = () => Promise<Assertion>;

/** Where a browser exchanges its ticket for a session in a cookie. */
const COMPLETE_PATH = '/api/auth/sso/complete';

/** The end of every single sign-on: finds or makes the account, sets its roles, and issues the ticket for the session. */
@Injectable()
export class SsoSignInService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly transactions: SsoTransactions,
    private readonly invitations: InvitationRights,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('user');
  }

  /** Consumes a response, once. Makes an account at the first sign-in, and sets the roles at every one. */
  private async consume(row: SsoTransaction, assertion: Assertion, origin: Origin): Promise<string> {
    const { provider, claims } = assertion;
    const roles = rolesOf(claims, provider.rules, provider.defaultRoles);
    return this.db.transaction(async (tx) => {
      const ticket = await this.transactions.complete(tx, assertion.transactionId);
      if (roles === undefined) {
        throw new Problem('forbidden', 'sso.no-role', 'No rule of this identity provider gives you a role here.');
      }
      const known = await this.findUser(tx, assertion);
      if (row.sessionId !== null) await assertSteppedUp(tx, row, known, assertion);
      const user = known ?? (await this.createUser(tx, assertion, origin));
      if (user.disabled) throw new Problem('forbidden', 'sso.disabled', 'This account is disabled.');
      await this.setRoles(tx, user, { provider: provider.name, roles }, origin);
      const { methods, externalSession, subject, logoutHint } = assertion;
      const authenticatedAt = assertion.authenticatedAt?.toISOString() ?? null;
      const identity = { providerId: provider.id, subject };
      await changeSealed(tx, ExternalIdentity, identity, { groups: groupsOf(claims) });
      const arrived = { userId: user.id, methods, externalSession, logoutHint, authenticatedAt };
      await this.transactions.storePerson(tx, assertion.transactionId, arrived);
      return ticket;
    });
  }

  /** Handles a response. @returns the URL for the browser, with a ticket or with the code of the problem */
  async conclude(row: SsoTransaction, answer: Answer, origin: Origin): Promise<string> {
    const { forBrowser, returnTo } = row;
    try {
      const ticket = await this.consume(row, await answer(), origin);
      return forBrowser ? `${COMPLETE_PATH}?ticket=${ticket}` : `${returnTo}#ticket=${ticket}`;
    } catch (error) {
      if (forBrowser && error instanceof Problem) return `${returnTo}#error=${error.code}`;
      throw error;
    }
  }

  /** Redeems a ticket in the browser that began. */
  async personWith(ticket: string, browser: string | undefined): Promise<Returned> {
    const redeemed = await this.transactions.redeem(ticket, browser);
    const { userId, providerId, methods, externalSession, logoutHint, returnTo, sessionId } = redeemed;
    const { manager } = this.db;
    const user = trusted(manager, User, await manager.findOneBy(User, { id: userId, disabled: false }));
    const row = await manager.findOneBy(IdentityProvider, { id: providerId, enabled: true });
    const provider = trusted(manager, IdentityProvider, row);
    if (user === null || provider === null) {
      throw new Problem('forbidden', 'sso.disabled', 'This account or this provider is disabled.');
    }
    const external = { providerId, session: externalSession, logoutHint };
    const authenticatedAt = authenticationTimeOf(redeemed.authenticatedAt);
    return { person: { user, way: provider.kind, methods, external, authenticatedAt }, returnTo, sessionId };
  }

  /** Sets the roles that the provider's claims give; the last administrator stays one in any case. */
  private async setRoles(
    tx: EntityManager,
    user: User,
    { provider, roles: claimed }: { readonly provider: string; readonly roles: readonly RoleName[] },
    origin: Origin,
  ): Promise<void> {
    const isLowered = user.roles.includes('admin') && !claimed.includes('admin');
    const administrators = isLowered ? await lockAdministrators(tx) : [];
    const isLast = administrators.length === 1 && administrators[0] === user.id;
    const roles: RoleName[] = isLast ? [...claimed, 'admin'] : [...claimed];
    if ([...roles].sort().join() === [...user.roles].sort().join()) return;
    await changeSealed(tx, User, { id: user.id }, { roles });
    const kept = isLast ? { kept: 'last-administrator' } : {};
    const by = { kind: 'user', id: user.id, name: user.email, origin } as const;
    await this.record(tx, by, 'user.roles-from-provider', user.id, { provider, roles, ...kept });
    await this.invitations.revokeUngrantable(tx, by, user.id);
  }

  private async findUser(tx: EntityManager, { provider, subject }: Assertion): Promise<User | null> {
    const found = await tx.findOneBy(ExternalIdentity, { providerId: provider.id, subject });
    const identity = assertSealed(tx, ExternalIdentity, found);
    return identity && assertSealed(tx, User, await tx.findOneBy(User, { id: identity.userId }));
  }

  /** Makes an account. The e-mail address never identifies a person: an existing account with it is another person's. */
  private async createUser(tx: EntityManager, { provider, subject, claims }: Assertion, origin: Origin): Promise<User> {
    const address = addressOf(claims);
    const id = newId();
    if (!(await insertUser(tx, { id, email: address, passwordHash: null, roles: [] }))) {
      const detail = 'There is an account with your e-mail address that does not belong to this identity provider.';
      throw new Problem('forbidden', 'sso.address-taken', detail);
    }
    await insertSealed(tx, ExternalIdentity, { providerId: provider.id, subject, userId: id });
    const user = await tx.findOneByOrFail(User, { id });
    const by = { kind: 'user', id, name: user.email, origin } as const;
    await this.record(tx, by, 'user.created', id, { provider: provider.name });
    return user;
  }
}

/** Accepted clock skew of providers. */
const SKEW_MS = 30_000;

/** Checks that it is the person of the session, and that the provider authenticated them after the attempt began: somebody else may be signed in there by now. */
async function assertSteppedUp(
  tx: EntityManager,
  row: SsoTransaction,
  known: User | null,
  { authenticatedAt }: Assertion,
): Promise<void> {
  const found = await tx.findOneBy(Session, { id: row.sessionId ?? '', endedAt: IsNull() });
  const session = trusted(tx, Session, found);
  if (known === null || session?.userId !== known.id) {
    throw new Problem('forbidden', 'sso.another-person', 'Somebody else signed in at the identity provider.');
  }
  if (authenticatedAt === null || authenticatedAt.getTime() < beganAt(row).getTime() - SKEW_MS) {
    throw new Problem(
      'forbidden',
      'sso.not-asked',
      'The identity provider did not ask who you are, or does not say so.',
    );
  }
}

/** The time of authentication; the epoch if the provider does not say, and never in the future. */
function authenticationTimeOf(time: string | null): Date {
  return time === null ? new Date(0) : new Date(Math.min(Date.parse(time), Date.now()));
}
