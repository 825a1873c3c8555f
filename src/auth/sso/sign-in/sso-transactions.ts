import { changeSealed, insertSealed, trusted, trustedRows } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource, type EntityManager, In, MoreThan } from 'typeorm';
import { sealsOf } from '../../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../../platform/sealing/row-text.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Seal } from '../../../platform/sealing/seal.js';
import type { ExternalEnd } from '../../credentials/sessions/sessions.service.js';
import { secretHashOf, newSecret } from '../../model/secret-text.js';
import { SsoTransaction } from './sso.entity.js';
import { networkOf } from '../../../platform/http/origin.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Background } from '../../../platform/work/background.js';
import { Throttle, type ThrottledAttempt } from '../../model/throttle.js';

/** A request to sign in at an identity provider. */
export interface SsoOrder {
  /** Name of the provider; optional if there is only one provider of this kind. */
  readonly provider?: string | undefined;
  /** Path on this site to return to. */
  readonly returnTo?: string | undefined;
  /** Result that the browser receives; defaults to a ticket. */
  readonly answer?: 'ticket' | 'cookie' | undefined;
  /** The session to step up: the provider must authenticate the person again. */
  readonly stepUp?: string | undefined;
  /** ID of the user who is testing the provider. A test does not sign anyone in or change anything. */
  readonly testedBy?: string | undefined;
}

const SEAL = 'sso transaction';
const MINUTES = 10;
const TICKET_SECONDS = 60;

export interface NewTransaction {
  readonly providerId: string;
  /** Links the response to the attempt: `state` in OIDC, or the ID of the SAML request. */
  readonly key: string;
  /** Value of the browser's cookie. */
  readonly browser: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly returnTo: string;
  readonly forBrowser: boolean;
  /** The session to step up; null for a new session. */
  readonly sessionId: string | null;
  /** ID of the person who is testing the provider; absent for a sign-in. */
  readonly testedBy?: string | undefined;
}

export interface Arrived {
  readonly userId: string;
  readonly methods: string[];
  /** The provider's ID for the session. */
  readonly externalSession: string | null;
  readonly logoutHint: string | null;
  /** Time at which the person authenticated at the provider, ISO 8601; null if not reported. */
  readonly authenticatedAt: string | null;
  /** The provider's identifier for the person. Absent in attempts that were completed by an earlier version. */
  readonly subject?: string;
  /** The authentication contexts that the provider reported. */
  readonly contexts?: readonly string[];
  /** Groups reported by the provider. Absent in attempts that were completed by an earlier version. */
  readonly groups?: readonly string[];
  /** Time at which the provider ends the session, ISO 8601; absent if not reported. */
  readonly sessionEnd?: string;
  /** Time at which the attempt began, ISO 8601. Absent in attempts that were completed by an earlier version. */
  readonly beganAt?: string;
  /** The version of the provider that admitted the person. Absent in attempts that were completed by an earlier version. */
  readonly providerVersion?: number;
}

/** An attempt whose response has arrived. */
export interface ArrivedAttempt extends Arrived {
  readonly providerId: string;
  /** Whether the browser receives a session in a cookie instead of a ticket. */
  readonly forBrowser: boolean;
  readonly returnTo: string;
  readonly sessionId: string | null;
}

/**
 * SsoTransactions stores attempts to sign in at a provider. An attempt accepts one response, a response yields one ticket, and the ticket can be used once,
 * only in the browser that started the sign-in, so that nobody can be tricked into signing in as someone else (login CSRF).
 */
@Injectable()
export class SsoTransactions {
  constructor(
    private readonly db: DataSource,
    private readonly seal: Seal,
  ) {}

  async start({ key, browser, secrets, testedBy, ...rest }: NewTransaction): Promise<void> {
    const id = newId();
    await insertSealed(this.db.manager, SsoTransaction, {
      ...rest,
      id,
      keyHash: secretHashOf(key),
      browserHash: secretHashOf(browser),
      secrets: this.seal.close(SEAL, id, Buffer.from(JSON.stringify(secrets))),
      // Processes of earlier versions do not find rows with the status TESTING, so they cannot mistake a test for a sign-in.
      ...(testedBy === undefined ? { status: 'STARTED' } : { status: 'TESTING', userId: testedBy }),
      expiresAt: new Date(Date.now() + MINUTES * 60_000),
    });
  }

  /** Returns the attempt to which a response belongs, if the attempt is still waiting for a response. */
  async waiting(key: string): Promise<{ row: SsoTransaction; secrets: Record<string, string> }> {
    const found = await this.db
      .createQueryBuilder(SsoTransaction, 'tx')
      .where('tx.keyHash = :hash', { hash: secretHashOf(key) })
      .andWhere(`tx.status IN ('STARTED', 'TESTING')`)
      .andWhere('tx.expiresAt > now()')
      .getOne();
    const row = trusted(this.db.manager, SsoTransaction, found);
    const isIts = row?.keyHash.equals(secretHashOf(key)) === true && ['STARTED', 'TESTING'].includes(row.status);
    if (row === null || !isIts || row.expiresAt <= new Date()) throw unknown();
    return { row, secrets: JSON.parse(this.seal.open(SEAL, row.id, row.secrets).toString()) as Record<string, string> };
  }

  /** Claims the attempt in the browser that started it, before its response is verified: only one of several concurrent responses is handled. */
  async take(
    key: string,
    browser: string | undefined,
  ): Promise<{ row: SsoTransaction; secrets: Record<string, string> }> {
    const waiting = await this.waiting(key);
    if (!isSame(waiting.row.browserHash, browser)) throw unknown();
    const started = { id: waiting.row.id, status: waiting.row.status };
    const taken = await changeSealed(this.db.manager, SsoTransaction, started, { status: 'TAKEN' });
    if (taken !== 1) throw unknown();
    return waiting;
  }

  /**
   * Completes the attempt in the caller's transaction: only one of several concurrent responses gets the ticket. Call this method before any other change that
   * the response causes.
   */
  async complete(tx: EntityManager, id: string): Promise<string> {
    const { text, hash } = newSecret('session');
    const waiting = { id, status: In(['STARTED', 'TAKEN']), expiresAt: MoreThan(new Date()) };
    const expiresAt = new Date(Date.now() + TICKET_SECONDS * 1000);
    const arrived = await changeSealed(tx, SsoTransaction, waiting, { status: 'ARRIVED', ticketHash: hash, expiresAt });
    if (arrived !== 1) throw unknown();
    return text;
  }

  /** Completes a test, once, with its result. @returns the ticket with which the person who started the test reads the result */
  async completeTest(id: string, result: object): Promise<string> {
    const { text, hash } = newSecret('session');
    const secrets = this.seal.close(SEAL, id, Buffer.from(JSON.stringify(result)));
    const waiting = { id, status: In(['TESTING', 'TAKEN']), expiresAt: MoreThan(new Date()) };
    const change = { status: 'TESTED' as const, ticketHash: hash, secrets };
    if ((await changeSealed(this.db.manager, SsoTransaction, waiting, change)) !== 1) throw unknown();
    return text;
  }

  /** Returns the result of a test, once, to the person and the browser that started it. */
  async redeemTest(ticket: string, browser: string | undefined, testedBy: string): Promise<unknown> {
    const row = await this.takeTicket(this.db.manager, ticket, 'TESTED');
    if (row === null || row.userId !== testedBy || !isSame(row.browserHash, browser)) throw unknown();
    return JSON.parse(this.seal.open(SEAL, row.id, row.secrets).toString());
  }

  /** Stores the person who completed an attempt, in the transaction that completes the attempt. */
  async storePerson(tx: EntityManager, id: string, { userId, ...rest }: Arrived): Promise<void> {
    const secrets = this.seal.close(SEAL, id, Buffer.from(JSON.stringify(rest)));
    await changeSealed(tx, SsoTransaction, { id }, { userId, secrets });
  }

  /** Discards the unredeemed tickets that a logout at the provider invalidates, inside the caller's transaction. */
  async discardArrived(tx: EntityManager, { providerId, sessions, subject, before }: ExternalEnd): Promise<void> {
    const found = await tx.findBy(SsoTransaction, { providerId, status: 'ARRIVED', expiresAt: MoreThan(new Date()) });
    // A row that does not match its seal cannot be exchanged, and must not affect other rows.
    const meant = trustedRows(tx, SsoTransaction, found).filter(({ id, secrets, expiresAt }) => {
      const person = this.personIn(id, secrets);
      return (
        (sessions === undefined || sessions.includes(person.externalSession ?? '')) &&
        (subject === undefined || subject === person.subject) &&
        expiresAt.getTime() - TICKET_SECONDS * 1000 < before.getTime()
      );
    });
    if (meant.length > 0) await tx.delete(SsoTransaction, { id: In(meant.map(({ id }) => id)) });
  }

  /**
   * Returns the attempt to which a ticket belongs, without consuming the ticket. If another browser started the attempt, the ticket is consumed and refused.
   */
  async arrived(ticket: string, browser: string | undefined): Promise<ArrivedAttempt> {
    const found = await this.db.manager.findOneBy(SsoTransaction, {
      ticketHash: secretHashOf(ticket),
      status: 'ARRIVED',
    });
    const row = trusted(this.db.manager, SsoTransaction, found);
    if (row === null || !isSame(row.browserHash, browser)) {
      await this.discard(ticket);
      throw unknown();
    }
    const { userId, providerId, forBrowser, returnTo, sessionId } = row;
    return { userId: userId ?? '', providerId, forBrowser, returnTo, sessionId, ...this.personIn(row.id, row.secrets) };
  }

  /** Consumes a ticket in the caller's transaction, which first locks the rows on which the sign-in depends. */
  async redeem(tx: EntityManager, ticket: string): Promise<void> {
    if ((await this.takeTicket(tx, ticket, 'ARRIVED')) === null) throw unknown();
  }

  /** Discards a ticket that was refused. */
  async discard(ticket: string): Promise<void> {
    await this.takeTicket(this.db.manager, ticket, 'ARRIVED');
  }

  private personIn(id: string, secrets: Buffer): Omit<Arrived, 'userId'> {
    return JSON.parse(this.seal.open(SEAL, id, secrets).toString()) as Omit<Arrived, 'userId'>;
  }

  private async takeTicket(
    tx: EntityManager,
    ticket: string,
    status: 'ARRIVED' | 'TESTED',
  ): Promise<SsoTransaction | null> {
    const [rows]: [{ row: JsonRow }[], number] = await tx.query(
      `DELETE FROM sso_transaction t WHERE ticket_hash = $1 AND status = $2 AND expires_at > now() RETURNING to_jsonb(t) AS row`,
      [secretHashOf(ticket), status],
    );
    const row = sealsOf(this.db.manager).opened(SsoTransaction, rows[0]?.row ?? null);
    // Does not rely on PostgreSQL alone to decide which ticket was presented, or whether the ticket expired.
    const isIts = row?.ticketHash?.equals(secretHashOf(ticket)) === true && row.status === status;
    return isIts && row.expiresAt > new Date() ? row : null;
  }

  @Background({ name: 'expired-sso-transactions', scope: 'cluster', every: 10 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(`DELETE FROM sso_transaction WHERE expires_at < now()`);
  }
}

/** Returns the time at which an attempt that is waiting for its response began. */
export function beganAt({ expiresAt }: SsoTransaction): Date {
  return new Date(expiresAt.getTime() - MINUTES * 60_000);
}

/** Reports whether the browser started the attempt. */
function isSame(browserHash: Buffer, browser: string | undefined): boolean {
  return browser !== undefined && timingSafeEqual(browserHash, secretHashOf(browser));
}

function unknown(): Problem {
  const detail = 'This sign-in was not started in this browser, took too long, or was already completed. Start again.';
  return new Problem('unauthenticated', 'sso.unknown', detail);
}

/** API_PATH matches paths of the API, some of which redirect to other sites. */
const API_PATH = /^\/+(?:api|oauth|v1)(?:\/|$)/i;

/**
 * returnPath normalizes the path of a page on this site. It rejects a path that leads to another site after dot segments are removed (open redirect,
 * CWE-601). It also rejects API paths, whose redirects would carry a ticket in the fragment to a provider.
 *
 * @throws Problem 400 `sso.return-to`
 */
export function returnPath(wanted: string | undefined, publicUrl: string): string {
  if (wanted === undefined) return '/';
  const target = isPath(wanted) && URL.canParse(wanted, publicUrl) ? new URL(wanted, publicUrl) : undefined;
  const path = `${target?.pathname}${target?.search}`;
  const isOwn = isPath(path) && new URL(path, publicUrl).origin === new URL(publicUrl).origin;
  if (target === undefined || !isOwn || API_PATH.test(decoded(target.pathname))) {
    const detail = `returnTo must be the path of a page on this site, such as "/alerts", not "${wanted}".`;
    throw new Problem('malformed', 'sso.return-to', detail);
  }
  return path;
}

function isPath(text: string): boolean {
  return /^\/(?![/\\])/.test(text) && !/[\p{Cc}\\]/u.test(text);
}

/** decoded returns the path as the router decodes it. A path that cannot be decoded is returned unchanged. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** SsoBeginnings throttles the start of single sign-on and logout messages per network, because neither requires a credential. Each start creates a row. */
@Injectable()
export class SsoBeginnings {
  constructor(private readonly throttle: Throttle) {}

  /** @throws Problem 429 `auth.too-many-attempts` */
  async assertMayBegin({ address }: Origin): Promise<void> {
    await this.throttle.assertMayTry([{ rule: 'sign-in elsewhere from network', subject: networkOf(address) }]);
  }

  /** Throttles SAML messages, which take time before their signature is verified. @throws Problem 429 `auth.too-many-attempts` */
  async assertMayAnswer({ address }: Origin): Promise<void> {
    await this.throttle.assertMayTry([{ rule: 'SAML message from network', subject: networkOf(address) }]);
  }

  /** Resets the count of SAML messages after a response that was accepted. */
  async answered({ address }: Origin): Promise<void> {
    await this.throttle.succeeded([{ rule: 'SAML message from network', subject: networkOf(address) }]);
  }

  /**
   * Handles an OpenID Connect logout message. Messages that are refused or do not end a session are throttled per network, because each message requires
   * reading the provider's keys or sessions. A message that takes effect resets the count, because a provider sends the logouts of all its users from one
   * network.
   *
   * @param end handles the message; resolves to whether the message took effect
   * @throws Problem 429 `auth.too-many-attempts`
   */
  logout({ address }: Origin, end: () => Promise<boolean>): Promise<void> {
    return this.countUnless(end, { rule: 'logout message from network', subject: networkOf(address) });
  }

  /**
   * Handles a verified logout token. Tokens that do not end a session are throttled per provider, because each token delays the provider's sign-ins. The limit
   * is higher than the limit per network: a provider also sends a token after a sign-out from this service, which has already ended the session.
   *
   * @param end ends the sessions; resolves to whether a session ended
   * @throws Problem 429 `auth.too-many-attempts`
   */
  verifiedLogout(providerId: string, end: () => Promise<boolean>): Promise<void> {
    return this.countUnless(end, { rule: 'logout token of provider', subject: providerId });
  }

  private async countUnless(hasEffect: () => Promise<boolean>, attempt: ThrottledAttempt): Promise<void> {
    await this.throttle.assertMayTry([attempt]);
    if (await hasEffect()) await this.throttle.succeeded([attempt]);
  }
}
