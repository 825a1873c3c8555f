import { applyDecorators, Controller, Header, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { originOf } from '../../platform/http/origin.js';
import { RawBody, TakesRaw, TheRawBody } from '../../platform/http/bodies/raw-body.js';
import { Public } from '../../access/access.js';
import type { TokenBinding } from '../../access/caller.js';
import { TokenView } from '../people/sign-in/sign-in.dto.js';
import { ClientAuthentication } from './client-authentication.js';
import { DEVICE_SECONDS, DeviceFlowService, POLL_SECONDS } from './device-flow.service.js';
import { KeyPossession } from '../credentials/possession/key-possession.js';
import { ProofRefused } from '../credentials/possession/dpop-proof.js';
import { OAuthError, OAuthErrorFilter } from './oauth-error.js';
import { FORM, OAuthParameters } from './oauth-parameters.js';
import {
  DeviceCodesView,
  DeviceRequest,
  IntrospectionView,
  OAuthErrorView,
  TokenParameter,
  TokenRequest,
} from './oauth.dto.js';
import { TokenEndpointService, wantedScopes } from './token-endpoint.service.js';
import { type Introspection, TokenInspectionService } from './token-inspection.service.js';

/** Maximum length of a request body; token requests are far shorter. */
const MAX_REQUEST_BYTES = 16 * 1024;

/** Declares an /oauth endpoint that responds with 200. OAuthParameters parses the body, which is a form or JSON. */
const OAuthPost = (path: string, body: new () => object): MethodDecorator =>
  applyDecorators(
    Post(path),
    HttpCode(200),
    Public(),
    TakesRaw(MAX_REQUEST_BYTES, [FORM, 'application/json']),
    Header('pragma', 'no-cache'),
    ApiConsumes('application/x-www-form-urlencoded', 'application/json'),
    ApiBody({ type: body }),
    ApiResponse({ status: 400, type: OAuthErrorView }),
    ApiResponse({ status: 401, type: OAuthErrorView }),
  );

@ApiTags('Authentication')
@Controller()
@UseFilters(OAuthErrorFilter)
export class OAuthController {
  constructor(
    private readonly clients: ClientAuthentication,
    private readonly endpoint: TokenEndpointService,
    private readonly inspection: TokenInspectionService,
    private readonly devices: DeviceFlowService,
    private readonly possession: KeyPossession,
  ) {}

  /**
   * Request an access token
   * @remarks Issues an access token for client credentials, a refresh token, a device code or a workload token (RFC 6749).
   */
  @OAuthPost('oauth/token', TokenRequest)
  async token(@Req() request: FastifyRequest, @TheRawBody() body: RawBody): Promise<TokenView> {
    const parameters = OAuthParameters.read(body);
    const client = await this.clients.clientOf(request, parameters);
    const requester = { origin: originOf(request), keys: () => this.keysOf(request) };
    return TokenView.of(await this.endpoint.exchange(client, parameters, requester));
  }

  /**
   * Revoke a token
   * @remarks Revokes a token and ends its session (RFC 7009). Unknown tokens also result in status 200.
   */
  @OAuthPost('oauth/revoke', TokenParameter)
  async revokeToken(@Req() request: FastifyRequest, @TheRawBody() body: RawBody): Promise<void> {
    const parameters = OAuthParameters.read(body);
    const client = await this.clients.clientOf(request, parameters);
    await this.inspection.revoke(client, parameters.require('token'), originOf(request));
  }

  /**
   * Introspect a token
   * @remarks Returns the state and the scopes of a token to a confidential client (RFC 7662).
   */
  @OAuthPost('oauth/introspect', TokenParameter)
  @ApiOkResponse({ type: IntrospectionView })
  async introspectToken(@Req() request: FastifyRequest, @TheRawBody() body: RawBody): Promise<Introspection> {
    const parameters = OAuthParameters.read(body);
    const client = await this.clients.requireClient(request, parameters);
    if (client.secretHash === null)
      throw new OAuthError('invalid_client', 'Introspection requires a confidential client.');
    return this.inspection.introspect(parameters.require('token'), originOf(request));
  }

  /**
   * Start device authorization
   * @remarks Issues a device code and a user code for a device that cannot show a sign-in page (RFC 8628).
   */
  @OAuthPost('oauth/device_authorization', DeviceRequest)
  async authorizeDevice(@Req() request: FastifyRequest, @TheRawBody() body: RawBody): Promise<DeviceCodesView> {
    const parameters = OAuthParameters.read(body);
    const client = await this.clients.requireClient(request, parameters);
    const scopes = wantedScopes(client, parameters.get('scope'));
    const { deviceCode, userCode, page } = await this.devices.start(client, scopes, originOf(request));
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: DEVICE_SECONDS,
      interval: POLL_SECONDS,
    };
  }

  private keysOf(request: FastifyRequest): Promise<TokenBinding> {
    return this.possession.shownBy(request).catch((error: unknown): never => {
      throw error instanceof ProofRefused ? new OAuthError('invalid_dpop_proof', error.message) : error;
    });
  }
}
