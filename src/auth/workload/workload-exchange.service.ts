import { insertSealed, findTrusted } from '../../platform/sealing/sealed-rows.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Actor, TokenBinding } from '../../access/caller.js';
import { SEALED_WORKLOAD_TOKEN } from '../../access/identity/verified-identity.js';
import { mayDo, type Scope, SCOPE_NAMES } from '../../access/scopes.js';
import { newId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { LastingSeal } from '../../platform/sealing/lasting-seal.js';
import { Clock } from '../../platform/work/clock.js';
import { Background } from '../../platform/work/background.js';
import { workloadName } from '../model/workload-name.js';
import { bindingFor } from '../credentials/possession/token-binding.js';
import { SessionsService } from '../credentials/sessions/sessions.service.js';
import { AccessTokens } from '../credentials/callers/access-tokens.js';
import type { Tokens } from '../credentials/callers/token-grants.js';
import { IssuerKeys } from './issuer-keys.js';
import { trustFor } from './trust-match.js';
import { WorkloadIdentity, WorkloadIssuer } from '../model/workload.entity.js';
import {
  unverifiedIssuerOf,
  type VerifiedWorkloadToken,
  verifyWorkloadToken,
  WorkloadTokenRefused,
} from './workload-token.js';
import {
  expireTokenUses,
  holdIssuer,
  recordTokenUse,
  rightsNow,
  trustsOf,
  type UsableTrust,
} from './workload.repository.js';

/** A token of an issuer, as presented by a workload. */
interface WorkloadOrder {
  readonly token: string;
  /** Name or ID of the trust; required if the token matches several trusts. */
  readonly trust: string | undefined;
  /** The requested scopes, separated by spaces; if undefined, all scopes that the trust grants. */
  readonly scope: string | undefined;
  /** Returns the keys whose possession the request proves. The access token can be bound to these keys. */
  readonly keys: () => Promise<TokenBinding>;
}

/** WorkloadTokens verifies the identity tokens of workloads with the issuers' keys, and encrypts the tokens for storage. */
@Injectable()
export class WorkloadTokens {
  constructor(
    private readonly keys: IssuerKeys,
    private readonly clock: Clock,
    private readonly seal: LastingSeal,
  ) {}

  /** @throws WorkloadTokenRefused; Problem `workload.issuer-away` */
  verify(token: string, issuer: WorkloadIssuer, origin: Origin): Promise<VerifiedWorkloadToken> {
    const keys = (fresh: boolean) => this.keys.of(issuer, origin, fresh);
    return verifyWorkloadToken(token, issuer.issuer, keys, this.clock.now());
  }

  /** Encrypts the token of the identity with this ID. Throws the Problems of KeyVault. */
  sealed(id: string, token: string): Promise<Buffer> {
    return this.seal.close(SEALED_WORKLOAD_TOKEN.purpose, id, Buffer.from(token));
  }
}

/** WorkloadExchangeService exchanges the identity token of a workload for an access token. No user signs in, and neither side stores a secret. */
@Injectable()
export class WorkloadExchangeService {
  constructor(
    private readonly db: DataSource,
    private readonly tokens: WorkloadTokens,
    private readonly sessions: SessionsService,
    private readonly accessTokens: AccessTokens,
  ) {}

  /**
   * Returns an access token for the run that the identity token describes. No refresh token is issued, because a run can get another token from its issuer.
   *
   * @throws WorkloadTokenRefused, KeyNotShown; Problem `workload.issuer-away`, and the Problems of the audit log and of the KeyVault that encrypts the token
   */
  async exchange(order: WorkloadOrder, origin: Origin): Promise<Tokens> {
    await sealsOf(this.db.manager).assertUpToDate();
    const named = { issuer: unverifiedIssuerOf(order.token), enabled: true };
    const issuer = await findTrusted(this.db.manager, WorkloadIssuer, named);
    if (issuer === null) throw new WorkloadTokenRefused('The issuer of the token is not trusted.');
    const verified = await this.tokens.verify(order.token, issuer, origin);
    assertIssuedSince(issuer, verified);
    const trusts = await trustsOf(this.db.manager, issuer.id, verified.audience);
    if (trusts.length === 0) throw new WorkloadTokenRefused('No trust accepts the audience of the token.');
    const trust = trustFor(trusts, verified.claims, order.trust);
    const scopes = scopesFor(trust, order.scope);
    const boundTo = bindingFor(trust, await order.keys());
    const id = newId();
    const sealed = await this.tokens.sealed(id, order.token);
    const accepted = { id, sealed, verified, issuer, trust, scopes, boundTo };
    return this.db.transaction((tx) => this.opened(tx, accepted, origin));
  }

  /** Deletes the records of expired tokens, which are rejected anyway. */
  @Background({ name: 'expired-token-uses', scope: 'cluster', every: 15 * 60_000 })
  expire(): Promise<void> {
    return expireTokenUses(this.db.manager);
  }

  private async opened(tx: EntityManager, accepted: Accepted, origin: Origin): Promise<Tokens> {
    const { id, sealed: token, verified, issuer, trust, scopes, boundTo } = accepted;
    // The issuer determines how long the service waits for its keys, so its row is checked again.
    if (!(await holdIssuer(tx, issuer)))
      throw new WorkloadTokenRefused('The issuer was changed during the exchange. Request the token again.');
    if (!(await recordTokenUse(tx, trust.issuerId, verified)))
      throw new WorkloadTokenRefused('The token has already been used. Request a new token from the issuer.');
    const { claims, tokenSha256, key, keyThumbprint, expiresAt: tokenExpiresAt } = verified;
    const proof = { token, tokenSha256, tokenExpiresAt, key, keyThumbprint };
    const { id: trustId, name: trustName, revision, lifeSeconds } = trust;
    await insertSealed(tx, WorkloadIdentity, { id, trustId, trustName, claims, ...proof });
    const order = { id, way: 'workload' as const, scopes, methods: [], lifeSeconds, boundTo };
    const workload = { trustId, trustRevision: revision };
    const detail = { trust: trustName, claims, tokenSha256, keyThumbprint };
    const actor: Actor = { kind: 'workload', id, name: workloadName(trustName, claims) };
    const session = await this.sessions.open(tx, actor, { ...order, workload, detail }, origin);
    const accessToken = await this.accessTokens.issue(session, lifeSeconds);
    return { accessToken, expiresIn: lifeSeconds, scopes, boundTo };
  }
}

interface Accepted {
  /** ID of the identity, which is also the ID of the session. */
  readonly id: string;
  /** The sealed token. */
  readonly sealed: Buffer;
  readonly verified: VerifiedWorkloadToken;
  /** The issuer as read before its keys were fetched. */
  readonly issuer: WorkloadIssuer;
  readonly trust: UsableTrust;
  readonly scopes: readonly Scope[];
  readonly boundTo: TokenBinding;
}

/**
 * Rejects a token that was issued before its issuer was disabled, because disabling an issuer ends the issuer's runs. Issue times have a resolution of one
 * second.
 */
function assertIssuedSince({ disabledAt }: WorkloadIssuer, { issuedAt }: VerifiedWorkloadToken): void {
  if (disabledAt === null || Math.floor(disabledAt.getTime() / 1000) * 1000 <= issuedAt.getTime()) return;
  throw new WorkloadTokenRefused(
    'The token was issued before its issuer was disabled. Request a new token from the issuer.',
  );
}

/** Returns the requested scopes that the trust currently grants. */
function scopesFor(trust: UsableTrust, wanted: string | undefined): Scope[] {
  const held = rightsNow(trust);
  if (held === undefined || held.size === 0)
    throw new WorkloadTokenRefused(
      'The trust grants nothing, because the user who last changed the trust has lost all permissions that it grants.',
    );
  if (wanted === undefined) return [...held];
  const words = [...new Set(wanted.split(' ').filter((word) => word !== ''))];
  return words.map((word) => {
    const known = SCOPE_NAMES.find((name) => name === word);
    if (known !== undefined && mayDo(held, known)) return known;
    throw new WorkloadTokenRefused('A requested scope is unknown or not granted by the trust.', 'invalid_scope');
  });
}
