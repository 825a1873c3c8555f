import { findGenuine, findTrusted, insertSealed, trusted } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { advisoryLock } from '../../../platform/database/statements.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { SignedInPerson } from '../../credentials/callers/token-grants.js';
import { failedSignIn } from '../../model/failed-sign-in.js';
import { User } from '../../model/user.entity.js';
import { insertUser } from '../../model/users.service.js';
import { Session } from '../../model/session.entity.js';
import { assertStrongEnough } from '../providers/authentication-context.js';
import { addressOf, assertNothingLeftOut, groupsOf, rolesOf } from '../providers/claim-rules.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';
import { IdentityProvider, issuerOf, type SamlSettings } from '../../model/identity-provider.entity.js';
import { assertNameFormat } from '../providers/saml-name-format.js';
import { type Assertion, boundedAssertion } from './assertion.js';
import { addressName, sealsOf, subjectName } from '../../../platform/sealing/row-seals.js';
import { type SsoTransaction } from './sso.entity.js';
import { keptGroups, ProvidedRights } from './provided-rights.service.js';
import { accountDisabled, addressTaken, noRole, refusedTrial, trialOf } from './sign-in-trial.js';
import { admitTokens, assertStillGranted } from '../../credentials/sessions/session-grounds.js';
import { assertNotEndedSince } from '../../credentials/sessions/sign-in-ends.js';
import { type ArrivedAttempt, beganAt, SsoTransactions } from './sso-transactions.js';

/** A person who has returned from a provider. */
export interface Returned {
  readonly person: SignedInPerson & { readonly authenticatedAt: Date };
  /** The session that was stepped up; null for a new session. */
  readonly sessionId: string | null;
}

/** ProviderResponse is the response to one attempt, before the response is verified. */
export interface ProviderResponse {
  readonly row: SsoTransaction;
  readonly provider: IdentityProvider;
  /** Whether the response arrived in the browser that started the sign-in. A SAML response is posted from another site, without the cookie. */
  readonly isBound: boolean;
  /** Verifies the response. Rejects if the response cannot be trusted. */
  readonly verify: () => Promise<Assertion>;
}

/** RefusedSignIn is a refusal that sends the browser back to the page from which the sign-in started. */
export class RefusedSignIn extends Problem {
  constructor(
    { kind, code, message, cause, audit }: Problem,
    /** Path to which the browser is redirected, including the problem code. */
    readonly place: string,
  ) {
    super(kind, code, message, { cause, ...(audit === undefined ? {} : { audit }) });
  }
}

/** Path at which a browser proves that it started the sign-in and, if it requested a session cookie, exchanges its ticket for the cookie. */
const COMPLETE_PATH = '/api/auth/sso/complete';

/** SsoSignInService completes sign-ins at identity providers: it finds or creates the account, sets the roles, and issues the ticket for the session. */
@Injectable()
export class SsoSignInService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly transactions: SsoTransactions,
    private readonly rights: ProvidedRights,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('user');
  }

  /**
   * Handles a response. @returns the URL to which to redirect the browser, with a ticket
   *
   * @throws RefusedSignIn for a browser that began with `answer=cookie`, Problem otherwise
   */
  async conclude(response: ProviderResponse, origin: Origin): Promise<string> {
    if (response.row.status === 'TESTING') return this.concludeTest(response);
    const { row, provider, isBound, verify } = response;
    const { forBrowser, returnTo } = row;
    let assertion: Assertion | undefined;
    try {
      assertion = boundedAssertion(await verify().catch(unreadable));
      await sealsOf(this.db.manager).catchUp();
      const ticket = await this.consume(row, assertion, origin);
      // A ticket is added to the URL of the requested page only in the browser that started the sign-in. Otherwise, the person who started the sign-in could
      // read another person's ticket on that page.
      return forBrowser || !isBound ? `${COMPLETE_PATH}?ticket=${ticket}` : `${returnTo}#ticket=${ticket}`;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { subject, contexts } = assertion ?? {};
      const isStepUp = row.sessionId !== null;
      const failed = failedSignIn(error, { way: provider.kind, provider, subject, contexts, isStepUp });
      throw forBrowser ? new RefusedSignIn(failed, `${returnTo}#error=${error.code}`) : failed;
    }
  }

  /** Stores the result that the sign-in would have, for the person who is testing the provider. */
  private async concludeTest({ row, provider, verify }: ProviderResponse): Promise<string> {
    const verified = verify().catch(unreadable).then(boundedAssertion);
    const trial = await verified.then(
      (assertion) => trialOf(this.db.manager, assertion),
      (error: unknown) => refusedTrial(provider.name, error),
    );
    return `${row.returnTo}#test=${await this.transactions.completeTest(row.id, trial)}`;
  }

  /**
   * Consumes a response, once. Creates an account at the first sign-in, and sets roles and groups at every sign-in. A user to whom the provider no longer
   * grants any role loses all rights immediately, even though the sign-in is refused.
   */
  private async consume(row: SsoTransaction, assertion: Assertion, origin: Origin): Promise<string> {
    const { provider, claims, subject } = assertion;
    assertStrongEnough(provider, assertion.contexts);
    assertNothingLeftOut(claims, provider.rules, assertion.withheld);
    const roles = rolesOf(claims, provider.rules, provider.defaultRoles);
    const { ticket, userId } = await this.db.transaction(async (tx) => {
      await admitTokens(tx, 'identity provider', provider.id);
      const identity = { provider, subject, groups: await keptGroups(tx, provider.id, groupsOf(claims)) };
      await assertSameProvider(tx, assertion);
      const session = assertion.externalSession ?? undefined;
      await assertNotEndedSince(tx, { providerId: provider.id, subject, session }, beganAt(row));
      const completed = await this.transactions.complete(tx, assertion.transactionId);
      const known = await this.findUser(tx, assertion);
      if (roles === undefined) {
        if (known !== null) await this.rights.withdraw(tx, known, identity, origin);
        return { ticket: undefined, userId: known?.id };
      }
      if (row.sessionId !== null) await assertSteppedUp(tx, row, known, assertion);
      const user = known ?? (await this.createUser(tx, assertion, origin));
      if (user.disabled) throw accountDisabled();
      await this.rights.apply(tx, user, identity, { roles, origin });
      await this.storePerson(tx, user, { ...assertion, groups: identity.groups, beganAt: beganAt(row) });
      return { ticket: completed, userId: user.id };
    });
    if (userId !== undefined) await this.rights.forget(userId);
    if (ticket === undefined) throw noRole();
    return ticket;
  }

  private async storePerson(
    tx: EntityManager,
    { id: userId }: User,
    assertion: Assertion & { readonly groups: readonly string[]; readonly beganAt: Date },
  ): Promise<void> {
    const { methods, contexts, externalSession, subject, logoutHint, groups } = assertion;
    const authenticatedAt = assertion.authenticatedAt?.toISOString() ?? null;
    const end = assertion.sessionEnd === undefined ? {} : { sessionEnd: assertion.sessionEnd.toISOString() };
    const arrived = {
      userId,
      methods,
      contexts,
      groups,
      subject,
      externalSession,
      logoutHint,
      authenticatedAt,
      beganAt: assertion.beganAt.toISOString(),
      providerVersion: assertion.provider.version,
      ...end,
    };
    await this.transactions.storePerson(tx, assertion.transactionId, arrived);
  }

  /** Returns where to redirect the browser, and whether it receives a session in a cookie. Throws if another browser started the sign-in. */
  async arrived(ticket: string, browser: string | undefined): Promise<{ forBrowser: boolean; returnTo: string }> {
    return this.transactions.arrived(ticket, browser);
  }

  /**
   * Redeems a ticket in the browser that started the sign-in, and passes the person to `use` in the same transaction. The transaction first locks the provider
   * and the account, so that code that ends sessions finds either the ticket or the session that replaced it. A refused ticket is also consumed.
   */
  async redeem<Result>(
    ticket: string,
    browser: string | undefined,
    use: (tx: EntityManager, returned: Returned) => Promise<Result>,
  ): Promise<Result> {
    const attempt = await this.transactions.arrived(ticket, browser);
    try {
      return await this.db.transaction(async (tx) => {
        const returned = await personOf(tx, attempt);
        const { userId, providerId, providerVersion, subject, externalSession, beganAt: began } = attempt;
        await admitTokens(tx, 'identity provider', providerId);
        await assertStillGranted(tx, { userId, providerId, providerVersion });
        const its = { providerId, subject, session: externalSession ?? undefined };
        if (began !== undefined) await assertNotEndedSince(tx, its, new Date(began));
        await this.transactions.redeem(tx, ticket);
        return use(tx, returned);
      });
    } catch (error) {
      if (error instanceof Problem) await this.transactions.discard(ticket);
      throw error;
    }
  }

  private async findUser(tx: EntityManager, { provider, subject }: Assertion): Promise<User | null> {
    const where = { providerId: provider.id, subject };
    const identity = await findGenuine(tx, ExternalIdentity, where);
    return identity && findGenuine(tx, User, { id: identity.userId });
  }

  /** Asserts that no other provider with the same issuer has created an account for this subject: one person must not have two votes. */
  private async assertNoTwin(tx: EntityManager, { provider, subject }: Assertion): Promise<void> {
    const issuer = issuerOf(provider.settings);
    await advisoryLock(tx, subjectName(issuer, subject));
    for (const { id, name, settings } of await tx.find(IdentityProvider))
      if (id !== provider.id && issuerOf(settings) === issuer)
        if (await tx.existsBy(ExternalIdentity, { providerId: id, subject })) throw addressTaken(name);
  }

  /**
   * Creates the account of a person who signs in for the first time. If two first sign-ins run concurrently, the second returns the account of the first.
   */
  private async createUser(tx: EntityManager, assertion: Assertion, origin: Origin): Promise<User> {
    const { provider, subject, claims } = assertion;
    const address = addressOf(claims);
    const id = newId();
    await this.assertNoTwin(tx, assertion);
    // A concurrent first sign-in of the same person may have created the account before the lock was acquired.
    const known = await this.findUser(tx, assertion);
    if (known !== null) return known;
    const account = { id, email: address, passwordHash: null, roles: [] };
    if (!(await insertUser(tx, account, subjectName(provider.id, subject)))) throw addressTaken();
    await insertSealed(tx, ExternalIdentity, { providerId: provider.id, subject, userId: id });
    const user = await findTrusted(tx, User, { id, email: address });
    if (user === null) throw new Error('the account that was read differs from the account that was inserted');
    const by = { kind: 'user', id, name: user.email, origin } as const;
    const detail = { provider: provider.name, providerId: provider.id, subject, addressSha256: addressName(address) };
    await this.record(tx, by, 'user.created', id, detail);
    return user;
  }
}

/** Throws a refusal with the reason why a response cannot be used. */
function unreadable(error: unknown): never {
  if (error instanceof Problem) throw error;
  const reason = error instanceof Error ? error.message : 'unknown error';
  const detail = `The response from the identity provider is invalid: ${reason}.`;
  throw new Problem('unauthenticated', 'sso.refused', detail, { cause: error });
}

/**
 * assertSameProvider verifies that the provider is still enabled and still has the rules that were applied to the sign-in, and locks the provider
 * until the transaction ends. The provider determines how long its response takes, and an administrator may have changed the rules in that time.
 *
 * @throws Problem 401 `sso.provider-changed`, 403 `sso.name-format`
 */
async function assertSameProvider(tx: EntityManager, { provider, nameFormat }: Assertion): Promise<void> {
  const { id, version } = provider;
  const mode = 'pessimistic_read';
  const now = trusted(tx, IdentityProvider, await tx.findOne(IdentityProvider, { where: { id }, lock: { mode } }));
  const isSame = now?.enabled === true && now.version === version;
  if (isSame && nameFormat !== undefined) assertNameFormat(now.settings as SamlSettings, nameFormat);
  if (isSame) return;
  const detail = 'The identity provider was changed or disabled during this sign-in. Sign in again.';
  throw new Problem('unauthenticated', 'sso.provider-changed', detail);
}

/** Accepted clock skew of providers. */
const SKEW_MS = 30_000;

/**
 * Verifies that the person is the user of the session, and that the provider authenticated the person after the attempt began, because another user may have
 * signed in at the provider in the meantime.
 */
async function assertSteppedUp(
  tx: EntityManager,
  row: SsoTransaction,
  known: User | null,
  { authenticatedAt }: Assertion,
): Promise<void> {
  const session = await findTrusted(tx, Session, { id: row.sessionId ?? '', endedAt: IsNull() });
  if (known === null || session?.userId !== known.id) {
    throw new Problem(
      'forbidden',
      'sso.another-person',
      "A different user signed in at the identity provider. Sign in there with this session's account.",
    );
  }
  if (authenticatedAt === null || authenticatedAt.getTime() < beganAt(row).getTime() - SKEW_MS) {
    throw new Problem(
      'forbidden',
      'sso.not-asked',
      'The identity provider did not confirm that it reauthenticated you. Try again, or sign out and sign in again.',
    );
  }
}

/** @throws Problem 403 `sso.disabled` */
async function personOf(tx: EntityManager, attempt: ArrivedAttempt): Promise<Returned> {
  const { userId, providerId, methods, externalSession, logoutHint, sessionId, subject, contexts, groups } = attempt;
  const user = await findTrusted(tx, User, { id: userId, disabled: false });
  const provider = await findTrusted(tx, IdentityProvider, { id: providerId, enabled: true });
  if (user === null || provider === null)
    throw new Problem(
      'forbidden',
      'sso.disabled',
      'This account or its identity provider is disabled. Contact an administrator.',
    );
  const external = { providerId, session: externalSession, logoutHint };
  const authenticatedAt = authenticationTimeOf(attempt.authenticatedAt);
  // The groups are recorded at each sign-in, because a comparison with a restored earlier row would not detect that the user has lost a group.
  const detail = { provider: provider.name, subject, acr: contexts, groups };
  const until = attempt.sessionEnd === undefined ? {} : { until: new Date(attempt.sessionEnd) };
  return { person: { user, way: provider.kind, methods, external, authenticatedAt, detail, ...until }, sessionId };
}

/** Returns the authentication time, which is never in the future; the epoch if the provider does not report the time. */
function authenticationTimeOf(time: string | null): Date {
  return time === null ? new Date(0) : new Date(Math.min(Date.parse(time), Date.now()));
}
