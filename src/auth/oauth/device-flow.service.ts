import { changeSealed, consumeSealed, findGenuine, insertSealed, trusted } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import { DataSource, type EntityManager, IsNull, LessThan, MoreThan } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { type Origin, networkOf } from '../../platform/http/origin.js';
import { Background } from '../../platform/work/background.js';
import type { Caller } from '../../access/caller.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { secretHashOf, newSecret } from '../model/secret-text.js';
import { Session } from '../model/session.entity.js';
import { admitTokens, assertStillGranted, type SessionGrounds } from '../credentials/sessions/session-grounds.js';
import { type NewSession, SIGNED_OUT } from '../credentials/sessions/sessions.service.js';
import { Throttle } from '../model/throttle.js';
import { DeviceAuthorization, type DeviceAuthorizationStatus, OAuthClient } from '../model/oauth.entity.js';
import type { ActiveClient } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';

/** Characters of user codes: consonants without look-alikes, which cannot form words (RFC 8628 section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
export const DEVICE_SECONDS = 300;
export const POLL_SECONDS = 5;

export interface RedeemedDeviceCode {
  readonly userId: string;
  readonly scopes: Scope[];
  /** Time at which the approving person last authenticated. */
  readonly authenticatedAt: Date;
  readonly external: NewSession['external'] | null;
  /** Time at which the identity provider ends the approving person's session; null if the provider did not report the time. */
  readonly providerEnd: Date | null;
}

/**
 * DeviceFlowService implements the device flow (RFC 8628): a device displays a code, and a signed-in person reviews the requested scopes and approves or denies
 * the request.
 */
@Injectable()
export class DeviceFlowService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly throttle: Throttle,
    private readonly config: Config,
  ) {}

  /**
   * Starts a device flow. Returns a device code, a user code, and the URL of the page for the user code. Anyone can start a device flow for a public client, so
   * calls are throttled per network.
   */
  async start(
    client: ActiveClient,
    scopes: readonly Scope[],
    { address }: Origin,
  ): Promise<{ deviceCode: string; userCode: string; page: string }> {
    await this.throttle.assertMayTry([{ rule: 'device flow from network', subject: networkOf(address) }]);
    const { text, hash } = newSecret('device');
    const userCode = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
    await insertSealed(this.db.manager, DeviceAuthorization, {
      id: newId(),
      clientId: client.id,
      deviceCodeHash: hash,
      userCode,
      scopes: [...scopes],
      status: 'PENDING',
      pollSeconds: POLL_SECONDS,
      expiresAt: new Date(Date.now() + DEVICE_SECONDS * 1000),
    });
    const page = `${this.config.publicUrl}/device`;
    return { deviceCode: text, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`, page };
  }

  /** Returns the pending request with a user code. Guesses are throttled. */
  async find(caller: Caller, userCode: string): Promise<{ clientName: string; scopes: Scope[]; expiresAt: Date }> {
    const waiting = await this.waiting(caller, userCode);
    const client = await findGenuine(this.db.manager, OAuthClient, { id: waiting.clientId });
    if (client === null) throw missing();
    return { clientName: client.name, scopes: grantable(caller, waiting.scopes), expiresAt: waiting.expiresAt };
  }

  /** Approves or denies a request. The token never has more scopes than the approving user. */
  async decide(caller: Caller, userCode: string, decision: 'APPROVED' | 'DENIED'): Promise<void> {
    const waiting = await this.waiting(caller, userCode);
    const scopes = grantable(caller, waiting.scopes);
    await this.db.transaction(async (tx) => {
      const pending = { id: waiting.id, status: 'PENDING' as const, expiresAt: MoreThan(new Date()) };
      const its = { id: caller.session?.id ?? '', userId: caller.id, endedAt: IsNull() };
      await holdGrounds(tx, await findGenuine(tx, Session, its));
      const session = await findGenuine(tx, Session, its);
      if (session === null) throw missing();
      const { authenticatedAt, providerId, externalSession, providerEnd } = session;
      const grounds = { sessionId: session.id, authenticatedAt, providerId, externalSession, providerEnd };
      const change = { status: decision, userId: caller.id, scopes, ...grounds };
      const changed = await changeSealed(tx, DeviceAuthorization, pending, change);
      if (changed !== 1) throw missing();
      const target = { kind: 'oauth-client', id: waiting.clientId };
      const action = decision === 'APPROVED' ? 'device.approved' : 'device.denied';
      await this.audit.appendBy(tx, caller, { action, target, detail: { scopes } });
    });
    // The count is not reset in `find`, because a caller could then reset the count by looking up a known code.
    await this.throttle.succeeded([attemptOf(caller)]);
  }

  /** Returns the IDs of the user who approved a device code and of the user's identity provider; null if the code cannot be exchanged now. */
  async approved(
    { id: clientId }: ActiveClient,
    deviceCode: string,
  ): Promise<Pick<SessionGrounds, 'userId' | 'providerId'> | null> {
    const found = await this.db.manager.findOneBy(DeviceAuthorization, {
      deviceCodeHash: secretHashOf(deviceCode),
      clientId,
      status: 'APPROVED',
      expiresAt: MoreThan(new Date()),
    });
    return found === null ? null : { userId: found.userId ?? undefined, providerId: found.providerId ?? undefined };
  }

  /** Consumes an approved device code in the caller's transaction. Throws the errors of RFC 8628 section 3.5. */
  async redeem(tx: EntityManager, client: ActiveClient, deviceCode: string): Promise<RedeemedDeviceCode> {
    const place = { deviceCodeHash: secretHashOf(deviceCode), clientId: client.id };
    const where = `t.device_code_hash = $1 AND t.client_id = $2 AND t.status = 'APPROVED' AND t.expires_at > now()`;
    const values = [place.deviceCodeHash, place.clientId];
    const order = { where, set: `status = 'REDEEMED'`, values, is: place };
    const [row] = await consumeSealed(tx, DeviceAuthorization, order);
    const isOpen = row?.clientId === client.id && row.status === 'APPROVED' && row.expiresAt > new Date();
    if (row !== undefined && isOpen) {
      await assertStillApproved(tx, row);
      return redeemed(row);
    }
    const found = await tx.findOneBy(DeviceAuthorization, place);
    if (found === null) throw new OAuthError('invalid_grant', 'The device code is invalid.');
    const refusal = refusalOf(found.status);
    if (refusal !== undefined) throw refusal;
    if (found.expiresAt <= new Date())
      throw new OAuthError('expired_token', 'The device code has expired. Start again.');
    return this.waitFor(found);
  }

  @Background({ name: 'expired-device-authorizations', scope: 'cluster', every: 15 * 60_000 })
  async expire(): Promise<void> {
    await this.db.manager.delete(DeviceAuthorization, { expiresAt: LessThan(new Date(Date.now() - 3600 * 1000)) });
  }

  /** Records a poll. Throws `slow_down` for a premature poll, which also lengthens the interval, and `authorization_pending` otherwise. */
  private async waitFor({ id }: DeviceAuthorization): Promise<never> {
    const [polls]: [{ soon: boolean }[], number] = await this.db.query(
      `UPDATE device_authorization d SET polled_at = now(), poll_seconds = d.poll_seconds + CASE WHEN soon THEN 5 ELSE 0 END
       FROM (SELECT id, coalesce(polled_at > now() - make_interval(secs => poll_seconds - 0.5), false) AS soon
         FROM device_authorization WHERE id = $1 FOR UPDATE) before WHERE d.id = before.id RETURNING soon`,
      [id],
    );
    if (polls[0]?.soon === true)
      throw new OAuthError('slow_down', 'Polling too fast. Increase the interval by five seconds.');
    throw new OAuthError('authorization_pending', 'The user has not approved or denied the request yet.');
  }

  private async waiting(caller: Caller, typed: string): Promise<DeviceAuthorization> {
    await this.throttle.assertMayTry([attemptOf(caller)]);
    const userCode = typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
    const known = { userCode, status: 'PENDING' as const, expiresAt: MoreThan(new Date()) };
    const found = trusted(
      this.db.manager,
      DeviceAuthorization,
      await this.db.manager.findOneBy(DeviceAuthorization, known),
    );
    if (found?.userCode !== userCode || found.status !== 'PENDING' || found.expiresAt <= new Date()) throw missing();
    return found;
  }
}

/**
 * holdGrounds acquires locks until the approval is committed. Transactions that end all sessions of the person or of the provider wait for these locks, and
 * therefore also deny the code. Signing out does not require a lock, because signing out does not invalidate codes.
 */
async function holdGrounds(tx: EntityManager, session: Session | null): Promise<void> {
  const { userId, providerId } = session ?? {};
  if (providerId != null) await admitTokens(tx, 'identity provider', providerId);
  await assertStillGranted(tx, { userId: userId ?? undefined, providerId: providerId ?? undefined });
}

/**
 * assertStillApproved rejects a code if the session in which the code was approved has ended, unless the person signed out. A transaction that ends a session
 * denies the codes approved in the session, but not a code whose approval is committed later.
 */
async function assertStillApproved(tx: EntityManager, { sessionId: id }: DeviceAuthorization): Promise<void> {
  if (id === null) return;
  const session = await tx.findOne(Session, { where: { id }, lock: { mode: 'pessimistic_read' } });
  if (session !== null && (session.endedAt === null || session.endedBecause === SIGNED_OUT)) return;
  throw new OAuthError('access_denied', 'The session in which the user approved the request has ended. Start again.');
}

/** Returns the facts of a redeemed code. Rows of earlier versions have no authentication time, so the epoch is used instead. */
function redeemed(row: DeviceAuthorization): RedeemedDeviceCode {
  const { userId, scopes, authenticatedAt: at, providerId, externalSession: session, providerEnd } = row;
  const external = providerId === null ? null : { providerId, session, logoutHint: null };
  return { userId: userId ?? '', scopes, authenticatedAt: at ?? new Date(0), external, providerEnd };
}

function attemptOf({ id: subject }: Caller) {
  return { rule: 'user code by person', subject } as const;
}

function grantable(caller: Caller, scopes: readonly Scope[]): Scope[] {
  return scopes.filter((scope) => mayDo(caller.scopes, scope));
}

function refusalOf(status: DeviceAuthorizationStatus): OAuthError | undefined {
  if (status === 'DENIED') return new OAuthError('access_denied', 'The user denied the request.');
  if (status === 'REDEEMED') return new OAuthError('invalid_grant', 'The device code has already been used.');
  return undefined;
}

function missing(): Problem {
  return new Problem(
    'missing',
    'device.missing',
    `No device is waiting for approval with this code. Codes are valid for ${DEVICE_SECONDS / 60} minutes.`,
  );
}
