import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../../platform/http/origin.js';
import type { TokenBinding } from '../../access/caller.js';
import { mayDo, SCOPE_NAMES, type Scope } from '../../access/scopes.js';
import { assertSameKeys, bindingFor, KeyNotShown } from '../credentials/possession/token-binding.js';
import { Problem } from '../../platform/errors/problem.js';
import { assertStillGranted, CHANGED_MEANWHILE } from '../credentials/sessions/session-grounds.js';
import { RefreshTokens } from '../credentials/sessions/refresh-tokens.js';
import { OAUTH_TOKEN_SECONDS, TokenGrants, type Tokens } from '../credentials/callers/token-grants.js';
import { bindingOf } from '../model/session.entity.js';
import { User } from '../model/user.entity.js';
import { DeviceFlowService } from './device-flow.service.js';
import { WorkloadExchangeService } from '../workload/workload-exchange.service.js';
import { WorkloadTokenRefused } from '../workload/workload-token.js';
import type { ActiveClient } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8693 section 2.1 */
const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** RFC 7523 section 2.1 */
const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const GRANT_TYPES = [
  'client_credentials',
  'refresh_token',
  DEVICE_GRANT,
  TOKEN_EXCHANGE_GRANT,
  JWT_BEARER_GRANT,
] as const;
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const ACCESS_TOKEN_TYPE = `${TOKEN_TYPE}access_token`;
/** Accepted token types (RFC 8693 section 3). Issuers use both types for workload tokens, because an ID token is a JWT. */
export const SUBJECT_TOKEN_TYPES = [`${TOKEN_TYPE}jwt`, `${TOKEN_TYPE}id_token`] as const;

/** The response to a grant; `issuedType` is the `issued_token_type` of RFC 8693 section 2.2.1. */
interface Granted extends Tokens {
  readonly issuedType?: string;
}

/** The origin of a token request, and the keys whose possession the request proves. */
export interface TokenRequester {
  readonly origin: Origin;
  /**
   * Returns the keys whose possession the request proves. The token can be bound to these keys. Call this function only after the grant has been checked,
   * because anyone can create a proof, and each verified proof is stored.
   */
  readonly keys: () => Promise<TokenBinding>;
}

/**
 * TokenEndpointService implements the grants of /oauth/token (RFC 6749 sections 4.4 and 6, RFC 8628 section 3.4, RFC 8693, RFC 7523). The password grant is not
 * supported.
 */
@Injectable()
export class TokenEndpointService {
  constructor(
    private readonly db: DataSource,
    private readonly grants: TokenGrants,
    private readonly refreshTokens: RefreshTokens,
    private readonly devices: DeviceFlowService,
    private readonly workloads: WorkloadExchangeService,
  ) {}

  /** Issues tokens for a grant. `client` is the authenticated client, if any. */
  async exchange(
    client: ActiveClient | undefined,
    parameters: OAuthParameters,
    requester: TokenRequester,
  ): Promise<Granted> {
    try {
      return await this.granted(client, parameters, requester);
    } catch (error) {
      const isOver = error instanceof Problem && error.code === CHANGED_MEANWHILE;
      throw isOver ? new OAuthError('invalid_grant', error.message) : error;
    }
  }

  private async granted(
    client: ActiveClient | undefined,
    parameters: OAuthParameters,
    requester: TokenRequester,
  ): Promise<Granted> {
    const grant = parameters.require('grant_type');
    if (grant === TOKEN_EXCHANGE_GRANT || grant === JWT_BEARER_GRANT)
      return this.workload(grant, parameters, requester);
    if (grant === 'refresh_token') return this.refresh(client, parameters, requester);
    if (grant !== 'client_credentials' && grant !== DEVICE_GRANT) {
      throw new OAuthError('unsupported_grant_type', `The grant_type must be one of ${GRANT_TYPES.join(', ')}.`);
    }
    if (client === undefined) throw new OAuthError('invalid_client', 'This grant requires client authentication.');
    if (grant === DEVICE_GRANT) return this.device(client, parameters, requester);
    if (client.secretHash === null) {
      throw new OAuthError(
        'unauthorized_client',
        'A public client cannot use client_credentials. Use the device flow.',
      );
    }
    const scopes = wantedScopes(client, parameters.get('scope'));
    if (scopes.length === 0) {
      throw new OAuthError(
        'unauthorized_client',
        'The client has no permissions left, because its owner has lost all permissions.',
      );
    }
    const boundTo = await bound(async () => bindingFor(client, await requester.keys()));
    const { id, name, proofSince } = client;
    const granted = { id, name, proofSince, scopes, boundTo, lifeSeconds: lifeOf(client) };
    return this.grants.forClient(granted, requester.origin);
  }

  private async refresh(
    client: ActiveClient | undefined,
    parameters: OAuthParameters,
    { origin, keys }: TokenRequester,
  ): Promise<Tokens> {
    const token = parameters.require('refresh_token');
    const clientId = client?.id ?? null;
    const session = await this.refreshTokens.peek(token);
    if (session?.clientId === clientId) {
      assertNarrower(parameters.get('scope'), session.scopes);
      await bound(async () => assertSameKeys(bindingOf(session), await keys()));
    }
    const tokens = await this.grants.refresh(token, { clientId, lifeSeconds: lifeOf(client) }, origin);
    if (tokens === undefined) throw new OAuthError('invalid_grant', 'The refresh token is invalid or has expired.');
    return tokens;
  }

  /**
   * Issues a token to a workload. The presented token identifies the workload, so client authentication is not required (RFC 7523 section 2.1, RFC 8693 section
   * 2.1).
   */
  private async workload(
    grant: string,
    parameters: OAuthParameters,
    { origin, keys }: TokenRequester,
  ): Promise<Granted> {
    const isExchange = grant === TOKEN_EXCHANGE_GRANT;
    const token = parameters.require(isExchange ? 'subject_token' : 'assertion');
    if (isExchange) assertTokenTypes(parameters);
    const order = { token, trust: parameters.get('trust'), scope: parameters.get('scope'), keys };
    try {
      const tokens = await this.workloads.exchange(order, origin);
      return isExchange ? { ...tokens, issuedType: ACCESS_TOKEN_TYPE } : tokens;
    } catch (error) {
      const isRefusal = error instanceof WorkloadTokenRefused || error instanceof KeyNotShown;
      throw isRefusal ? new OAuthError(error.code, error.message) : error;
    }
  }

  private async device(
    client: ActiveClient,
    parameters: OAuthParameters,
    { origin, keys }: TokenRequester,
  ): Promise<Tokens> {
    const code = parameters.require('device_code');
    const approved = await this.devices.approved(client, code);
    const boundTo = approved === null ? undefined : await bound(async () => bindingFor(client, await keys()));
    return this.db.transaction(async (tx) => {
      // Locks are acquired in the same order as in code that ends sessions: first the session's grounds, then the device code.
      if (approved !== null) await assertStillGranted(tx, { ...approved, client });
      const { userId, scopes, authenticatedAt, external, providerEnd } = await this.devices.redeem(tx, client, code);
      if (boundTo === undefined)
        throw new OAuthError('authorization_pending', 'The user has just approved the request. Poll again.');
      const user = await findTrusted(tx, User, { id: userId, disabled: false });
      if (user === null) throw new OAuthError('access_denied', 'The user can no longer sign in.');
      const until = providerEnd === null ? {} : { until: providerEnd };
      const came = { ...(external === null ? {} : { external }), ...until, authenticatedAt };
      const { id, proofSince } = client;
      const granted = { id, proofSince, scopes, boundTo, lifeSeconds: lifeOf(client) };
      return this.grants.forPersonIn(tx, { user, way: 'device', methods: ['user'], client: granted, ...came }, origin);
    });
  }
}

/** Returns the lifetime of an access token in seconds. The token expires no later than the client's certificate. */
function lifeOf(client: ActiveClient | undefined): number {
  return Math.min(OAUTH_TOKEN_SECONDS, client?.secondsLeft ?? OAUTH_TOKEN_SECONDS);
}

/** Returns the requested scopes, or all scopes of the client if the request does not specify scopes. */
export function wantedScopes(client: ActiveClient, scope: string | undefined): Scope[] {
  if (scope === undefined) return [...client.permissions];
  const held = new Set<string>(client.permissions);
  return [...new Set(scope.split(' ').filter((word) => word !== ''))].map((word) => {
    const known = SCOPE_NAMES.find((name) => name === word);
    if (known === undefined || !mayDo(held, known)) {
      throw new OAuthError('invalid_scope', 'A requested scope is unknown or not granted to the client.');
    }
    return known;
  });
}

/** Runs `judge` and converts KeyNotShown into an OAuth error. */
async function bound<Result>(judge: () => Promise<Result>): Promise<Result> {
  try {
    return await judge();
  } catch (error) {
    throw error instanceof KeyNotShown ? new OAuthError(error.code, error.message) : error;
  }
}

/** Rejects unsupported subject token types, requested token types other than access tokens, and delegation (`actor_token`). */
function assertTokenTypes(parameters: OAuthParameters): void {
  const type = parameters.require('subject_token_type');
  if (!SUBJECT_TOKEN_TYPES.some((known) => known === type))
    throw new OAuthError('invalid_request', `The subject_token_type must be one of ${SUBJECT_TOKEN_TYPES.join(', ')}.`);
  const wanted = parameters.get('requested_token_type');
  if (wanted !== undefined && wanted !== ACCESS_TOKEN_TYPE)
    throw new OAuthError('invalid_request', `The requested_token_type must be ${ACCESS_TOKEN_TYPE}.`);
  if (parameters.get('actor_token') !== undefined)
    throw new OAuthError('invalid_request', 'Delegation is not supported. Omit actor_token.');
}

/** Rejects scopes beyond the granted scopes. A subset is accepted, but the new token has all granted scopes. */
function assertNarrower(scope: string | undefined, granted: readonly string[] | null): void {
  if (scope === undefined || granted === null) return;
  if (scope.split(' ').some((word) => !granted.includes(word))) {
    throw new OAuthError('invalid_scope', 'A refresh request cannot request scopes beyond the granted scopes.');
  }
}
