import { ApiProperty } from '@nestjs/swagger';
import { Optional, Text } from '../../platform/http/fields/fields.js';
import { GRANT_TYPES, SUBJECT_TOKEN_TYPES } from './token-endpoint.service.js';
import { SCOPE_NAMES, type Scope } from '../../access/scopes.js';

/** Documents the parameters, which OAuthParameters parses. */
export class TokenRequest {
  @ApiProperty({ enum: GRANT_TYPES, example: 'client_credentials' }) grant_type: string;
  /** Client ID. Omit the client ID if you use HTTP Basic. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id?: string;
  /** @example sw_client_0a1b */
  client_secret?: string;
  /**
   * Type of the client assertion, which replaces a secret (RFC 7523 section 2.2).
   * @example urn:ietf:params:oauth:client-assertion-type:jwt-bearer
   */
  client_assertion_type?: string;
  /** A JWT that the client signed with its private key. @example eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiIwMTk0In0.c2ln */
  client_assertion?: string;
  /** Space-separated subset of the client's scopes. @example 'sign:digest sign:read' */
  scope?: string;
  /** @example sw_refresh_0a1b */
  refresh_token?: string;
  /** @example sw_device_0a1b */
  device_code?: string;
  /** The identity token of a workload, for a token exchange (RFC 8693). @example eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwcyJ9.c2ln */
  subject_token?: string;
  @ApiProperty({ enum: SUBJECT_TOKEN_TYPES, required: false }) subject_token_type?: string;
  /** @example urn:ietf:params:oauth:token-type:access_token */
  requested_token_type?: string;
  /** The identity token of a workload, for the JWT bearer grant (RFC 7523). @example eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwcyJ9.c2ln */
  assertion?: string;
  /** Name or ID of the workload trust; required if the token matches several trusts. @example 'app releases' */
  trust?: string;
}

export class TokenParameter {
  /** An access token or a refresh token. @example sw_refresh_0a1b */
  token: string;
  /** @example refresh_token */
  token_type_hint?: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id?: string;
  /** @example sw_client_0a1b */
  client_secret?: string;
  /**
   * Type of the client assertion, which replaces a secret (RFC 7523 section 2.2).
   * @example urn:ietf:params:oauth:client-assertion-type:jwt-bearer
   */
  client_assertion_type?: string;
  /** A JWT that the client signed with its private key. @example eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiIwMTk0In0.c2ln */
  client_assertion?: string;
}

export class DeviceRequest {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id: string;
  /** @example 'sign:digest sign:read' */
  scope?: string;
}

/** Device authorization response (RFC 8628 section 3.2). */
export class DeviceCodesView {
  /** @example sw_device_0a1b */
  device_code: string;
  /** @example WDJB-MJHT */
  user_code: string;
  /** @example https://sign.example.com/device */
  verification_uri: string;
  /** @example https://sign.example.com/device?user_code=WDJB-MJHT */
  verification_uri_complete: string;
  /** Lifetime of the codes in seconds. @example 300 */
  expires_in: number;
  /** Minimum number of seconds between two polls. @example 5 */
  interval: number;
}

/** Error response (RFC 6749 section 5.2). */
export class OAuthErrorView {
  /** @example invalid_grant */
  error: string;
  /** @example 'The refresh token is invalid or has expired.' */
  error_description: string;
}

/** Introspection response (RFC 7662 section 2.2). */
export class IntrospectionView {
  active: boolean;
  /** @example 'sign:digest sign:read' */
  scope?: string;
  /** @example ada@example.com */
  username?: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  client_id?: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  sub?: string;
  /** Expiry in seconds since 1970. @example 1795180000 */
  exp?: number;
  /** @example 1795176400 */
  iat?: number;
  @ApiProperty({ enum: ['Bearer', 'DPoP'], required: false }) token_type?: string;
  /** The key to which the token is bound (RFC 7800, RFC 9449 section 6.2). */
  cnf?: ConfirmationView;
}

export class ConfirmationView {
  /** Thumbprint of the key (RFC 7638, SHA-256). @example 0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I */
  jkt?: string;
  /** SHA-256 of the client certificate (RFC 8705 section 3.1). @example bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2 */
  'x5t#S256'?: string;
}

/** Authorization server metadata (RFC 8414). */
export class OAuthMetadataView {
  /** @example https://sign.example.com */
  issuer: string;
  /** @example https://sign.example.com/oauth/token */
  token_endpoint: string;
  /** @example https://sign.example.com/oauth/revoke */
  revocation_endpoint: string;
  /** @example https://sign.example.com/oauth/introspect */
  introspection_endpoint: string;
  /** @example https://sign.example.com/oauth/device_authorization */
  device_authorization_endpoint: string;
  @ApiProperty({ example: ['client_credentials', 'refresh_token'] }) grant_types_supported: string[];
  /** Always empty, because the service has no authorization endpoint. */
  @ApiProperty({ type: [String], example: [] }) response_types_supported: string[];
  @ApiProperty({ example: ['sign:digest', 'sign:read'] }) scopes_supported: string[];
  @ApiProperty({ example: ['client_secret_basic'] }) token_endpoint_auth_methods_supported: string[];
  /** Signature algorithms for client assertions. */
  @ApiProperty({ example: ['ES256', 'RS256'] }) token_endpoint_auth_signing_alg_values_supported: string[];
  @ApiProperty({ example: ['client_secret_basic'] }) revocation_endpoint_auth_methods_supported: string[];
  @ApiProperty({ example: ['ES256', 'RS256'] }) revocation_endpoint_auth_signing_alg_values_supported: string[];
  @ApiProperty({ example: ['client_secret_basic'] }) introspection_endpoint_auth_methods_supported: string[];
  @ApiProperty({ example: ['ES256', 'RS256'] }) introspection_endpoint_auth_signing_alg_values_supported: string[];
  /** Signature algorithms for DPoP proofs (RFC 9449 section 5.1). */
  @ApiProperty({ example: ['ES256', 'RS256'] }) dpop_signing_alg_values_supported: string[];
  /** Whether access tokens can be bound to client certificates, which a proxy passes to the service (RFC 8705 section 3.3). */
  tls_client_certificate_bound_access_tokens: boolean;
}

export class UserCodeParam {
  /** The code displayed by the device. @example WDJB-MJHT */
  @Text(1, 20) userCode: string;
}

/** DevicePageQuery documents the parameter of `verification_uri_complete` (RFC 8628 section 3.3.1), which the page itself reads. */
export class DevicePageQuery {
  @Optional(Text(1, 20)) user_code?: string;
}

export class WaitingDeviceView {
  /** @example sealwrightctl */
  client: string;
  /** Scopes that the device gets if you approve the request: the requested scopes that you have. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true }) scopes: Scope[];
  expiresAt: Date;
}
