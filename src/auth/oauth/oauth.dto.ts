import { ApiProperty } from '@nestjs/swagger';
import { GRANT_TYPES } from './token-endpoint.service.js';

/** Documents the parameters; OAuthParameters reads them. */
export class TokenRequest {
  @ApiProperty({ enum: GRANT_TYPES, example: 'client_credentials' })
  grant_type: string;
  /** Or by HTTP Basic. */
  client_id?: string;
  client_secret?: string;
  /** Space-separated; only what the client may have. @example sign:digest sign:read */
  scope?: string;
  refresh_token?: string;
  device_code?: string;
}

export class TokenParameter {
  /** An access or a refresh token. */
  token: string;
  token_type_hint?: string;
  client_id?: string;
  client_secret?: string;
}

export class DeviceRequest {
  client_id: string;
  /** @example sign:digest sign:read */
  scope?: string;
}

/** RFC 8628 section 3.2. */
export class DeviceCodesView {
  device_code: string;
  /** @example WDJB-MJHT */
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  /** Seconds. @example 300 */
  expires_in: number;
  /** Seconds between two polls. @example 5 */
  interval: number;
}

/** RFC 6749 section 5.2. */
export class OAuthErrorView {
  /** @example invalid_grant */
  error: string;
  error_description: string;
}

/** RFC 7662 section 2.2. */
export class IntrospectionView {
  active: boolean;
  scope?: string;
  username?: string;
  client_id?: string;
  sub?: string;
  /** Seconds since 1970. */
  exp?: number;
  iat?: number;
}
