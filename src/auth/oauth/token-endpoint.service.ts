import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../../platform/http/origin.js';
import { mayDo, SCOPE_NAMES, type Scope } from '../../access/scopes.js';
import { RefreshTokens } from '../sessions/refresh-tokens.js';
import { OAUTH_TOKEN_SECONDS, TokenGrants, type Tokens } from '../tokens/token-grants.js';
import { User } from '../model/user.entity.js';
import { DeviceFlowService } from './device-flow.service.js';
import type { ActiveClient } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';
import type { OAuthParameters } from './oauth-parameters.js';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
export const GRANT_TYPES = ['client_credentials', 'refresh_token', DEVICE_GRANT] as const;

/** The grants of /oauth/token (RFC 6749 sections 4.4 and 6, RFC 8628 section 3.4). There is no password grant. */
@Injectable()
export class TokenEndpointService {
  constructor(
    private readonly db: DataSource,
    private readonly grants: TokenGrants,
    private readonly refreshTokens: RefreshTokens,
    private readonly devices: DeviceFlowService,
  ) {}

  /** `client`: the authenticated client, if any. */
  async exchange(client: ActiveClient | undefined, parameters: OAuthParameters, origin: Origin): Promise<Tokens> {
    const grant = parameters.require('grant_type');
    if (grant === 'refresh_token') return this.refresh(client, parameters, origin);
    if (grant !== 'client_credentials' && grant !== DEVICE_GRANT) {
      throw new OAuthError('unsupported_grant_type', `Use one of ${GRANT_TYPES.join(', ')}.`);
    }
    if (client === undefined) throw new OAuthError('invalid_client', 'The client must authenticate.');
    if (grant === DEVICE_GRANT) return this.device(client, parameters, origin);
    if (client.secretHash === null) {
      throw new OAuthError('unauthorized_client', 'A public client cannot act for itself.');
    }
    const scopes = wantedScopes(client, parameters.get('scope'));
    if (scopes.length === 0) {
      throw new OAuthError('unauthorized_client', 'The owner of the client may do nothing of what it is for any more.');
    }
    return this.grants.forClient(client, scopes, origin);
  }

  private async refresh(
    client: ActiveClient | undefined,
    parameters: OAuthParameters,
    origin: Origin,
  ): Promise<Tokens> {
    const token = parameters.require('refresh_token');
    const clientId = client?.id ?? null;
    const session = await this.refreshTokens.peek(token);
    if (session?.clientId === clientId) assertNarrower(parameters.get('scope'), session.scopes);
    const tokens = await this.grants.refresh(token, { clientId, lifeSeconds: OAUTH_TOKEN_SECONDS }, origin);
    if (tokens === undefined) throw new OAuthError('invalid_grant', 'The refresh token is not valid, or no longer.');
    return tokens;
  }

  private device(client: ActiveClient, parameters: OAuthParameters, origin: Origin): Promise<Tokens> {
    const code = parameters.require('device_code');
    return this.db.transaction(async (tx) => {
      const { userId, scopes, authenticatedAt, external } = await this.devices.redeem(tx, client, code);
      const user = await tx.findOneBy(User, { id: userId, disabled: false });
      if (user === null) throw new OAuthError('access_denied', 'The person may not sign in any more.');
      const came = { ...(external === null ? {} : { external }), authenticatedAt };
      const granted = { id: client.id, scopes };
      return this.grants.forPersonIn(tx, { user, way: 'device', methods: ['user'], client: granted, ...came }, origin);
    });
  }
}

/** The scopes that a client requests; all of its own if it names none. */
export function wantedScopes(client: ActiveClient, scope: string | undefined): Scope[] {
  if (scope === undefined) return [...client.permissions];
  const held = new Set<string>(client.permissions);
  return [...new Set(scope.split(' ').filter((word) => word !== ''))].map((word) => {
    const known = SCOPE_NAMES.find((name) => name === word);
    if (known === undefined || !mayDo(held, known)) {
      throw new OAuthError('invalid_scope', 'A scope is not known, or the client may not have it.');
    }
    return known;
  });
}

/** A refresh may name the granted scopes and no others; narrowing them is not supported. */
function assertNarrower(scope: string | undefined, granted: readonly string[] | null): void {
  if (scope === undefined || granted === null) return;
  if (scope.split(' ').some((word) => !granted.includes(word))) {
    throw new OAuthError('invalid_scope', 'A refresh cannot widen what was granted.');
  }
}
