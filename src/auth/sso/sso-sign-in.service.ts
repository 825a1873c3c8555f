import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { newId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import type { SignedInPerson } from '../tokens/token-grants.js';
import { lockAdministrators } from '../users/administrators.js';
import { InvitationRights } from '../users/invitation-rights.js';
import { User } from '../model/user.entity.js';
import type { RoleName } from '../../access/scopes.js';
import { Session } from '../model/session.entity.js';
import { canonical } from '../model/users.service.js';
import { type Claims, groupsOf, rolesOf, claimTextOf } from './claim-rules.js';
import { ExternalIdentity } from './external-identity.entity.js';
import { IdentityProvider } from './identity-provider.entity.js';
import type { SsoTransaction } from './sso-transaction.entity.js';
import { beganAt, SsoTransactions } from './sso-transactions.js';

/** What a provider says of somebody, once its word was checked. */
export interface Assertion {
  readonly transactionId: string;
  readonly provider: IdentityProvider;
  /** The provider's lasting name for the person. */
  readonly subject: string;
  readonly claims: Claims;
  readonly methods: string[];
  readonly externalSession: string | null;
  /** What the provider wants to see when the person signs out there: the ID token of OIDC as it came, the NameID of SAML as JSON. */
  readonly logoutHint: string | null;
  /** When the person showed the provider who they are; null when it does not say. */
  readonly authenticatedAt: Date | null;
}

/** Who came back. */
export interface Returned {
  readonly person: SignedInPerson & { readonly authenticatedAt: Date };
  readonly returnTo: string;
  /** The session that they stepped up; null for a new one. */
  readonly sessionId: string | null;
}

/** Looks at what came back, and throws when it cannot be trusted. */
type Answer = () => Promise<Assertion>;

/** OIDC; LDAP's mail by name and by number; X.500's emailAddress (Keycloak); the claim of WS-Federation (Entra ID). */
const ADDRESS_CLAIMS = [
  'email',
  'mail',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
];

/** Where a browser exchanges its ticket for a session in a cookie. */
const COMPLETE = '/api/auth/sso/complete';

/** Where every single sign-on ends: who is it here, what may they do, and the ticket for their session. */
@Injectable()
export class SsoSignInService {
  constructor(
    private readonly db: DataSource,
    private readonly transactions: SsoTransactions,
    private readonly audit: AuditService,
    private readonly invitations: InvitationRights,
  ) {}

  /** Takes an answer, once. Makes the person an account at their first sign-in, and sets their roles at every one. */
  private async arrived(row: SsoTransaction, assertion: Assertion, origin: Origin): Promise<string> {
    const { provider, claims } = assertion;
    const roles = rolesOf(claims, provider.rules, provider.defaultRoles);
    return this.db.transaction(async (tx) => {
      const ticket = await this.transactions.arrive(tx, assertion.transactionId);
      if (roles === undefined) {
        throw new Problem('forbidden', 'sso.no-role', 'No rule of this identity provider gives you a role here.');
      }
      const known = await this.known(tx, assertion);
      if (row.sessionId !== null) await assertSteppedUp(tx, row, known, assertion);
      const user = known ?? (await this.newcomer(tx, assertion, origin));
      if (user.disabled) throw new Problem('forbidden', 'sso.disabled', 'This account is disabled.');
      await this.setRoles(tx, user, { provider: provider.name, roles }, origin);
      const { methods, externalSession, subject, logoutHint } = assertion;
      const authenticatedAt = assertion.authenticatedAt?.toISOString() ?? null;
      await tx.update(ExternalIdentity, { providerId: provider.id, subject }, { groups: groupsOf(claims) });
      const arrived = { userId: user.id, methods, externalSession, logoutHint, authenticatedAt };
      await this.transactions.note(tx, assertion.transactionId, arrived);
      return ticket;
    });
  }

  /** Looks at an answer. @returns where the browser goes: with a ticket, or with the code of the problem */
  async conclude(row: SsoTransaction, answer: Answer, origin: Origin): Promise<string> {
    const { forBrowser, returnTo } = row;
    try {
      const ticket = await this.arrived(row, await answer(), origin);
      return forBrowser ? `${COMPLETE}?ticket=${ticket}` : `${returnTo}#ticket=${ticket}`;
    } catch (error) {
      if (forBrowser && error instanceof Problem) return `${returnTo}#error=${error.code}`;
      throw error;
    }
  }

  /** Whose ticket it is, in the browser that began. */
  async personWith(ticket: string, browser: string | undefined): Promise<Returned> {
    const redeemed = await this.transactions.redeem(ticket, browser);
    const { userId, providerId, methods, externalSession, logoutHint, returnTo, sessionId } = redeemed;
    const user = await this.db.manager.findOneBy(User, { id: userId, disabled: false });
    const provider = await this.db.manager.findOneBy(IdentityProvider, { id: providerId, enabled: true });
    if (user === null || provider === null) {
      throw new Problem('forbidden', 'sso.disabled', 'This account or this provider is disabled.');
    }
    const external = { providerId, session: externalSession, logoutHint };
    const authenticatedAt = sinceWhen(redeemed.authenticatedAt);
    return { person: { user, way: provider.kind, methods, external, authenticatedAt }, returnTo, sessionId };
  }

  /** As the provider's word has it, but for one thing: the last administrator stays one, whoever says otherwise. */
  private async setRoles(
    tx: EntityManager,
    user: User,
    { provider, roles: told }: { readonly provider: string; readonly roles: readonly RoleName[] },
    origin: Origin,
  ): Promise<void> {
    const isLowered = user.roles.includes('admin') && !told.includes('admin');
    const administrators = isLowered ? await lockAdministrators(tx) : [];
    const isLast = administrators.length === 1 && administrators[0] === user.id;
    const roles: RoleName[] = isLast ? [...told, 'admin'] : [...told];
    if ([...roles].sort().join() === [...user.roles].sort().join()) return;
    await tx.update(User, { id: user.id }, { roles });
    const kept = isLast ? { kept: 'last-administrator' } : {};
    await this.record(tx, user, 'user.roles-from-provider', origin, { provider, roles, ...kept });
    await this.invitations.takeBack(tx, { kind: 'user', id: user.id, name: user.email, origin }, user.id);
  }

  private async known(tx: EntityManager, { provider, subject }: Assertion): Promise<User | null> {
    const identity = await tx.findOneBy(ExternalIdentity, { providerId: provider.id, subject });
    return identity === null ? null : tx.findOneBy(User, { id: identity.userId });
  }

  /** The e-mail address never decides who somebody is: an account that has it already is somebody else's. */
  private async newcomer(tx: EntityManager, { provider, subject, claims }: Assertion, origin: Origin): Promise<User> {
    const address = claimTextOf(claims, ...ADDRESS_CLAIMS);
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

/** Clocks of others may be behind by so much. */
const SKEW_MS = 30_000;

/** The same person as in the session, and the provider asked them after the attempt began: who is signed in there may be anybody by now. */
async function assertSteppedUp(
  tx: EntityManager,
  row: SsoTransaction,
  known: User | null,
  { authenticatedAt }: Assertion,
): Promise<void> {
  const session = await tx.findOneBy(Session, { id: row.sessionId ?? '', endedAt: IsNull() });
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

/** What a provider does not tell is long ago, and nobody showed it in the future. */
function sinceWhen(told: string | null): Date {
  return told === null ? new Date(0) : new Date(Math.min(Date.parse(told), Date.now()));
}
