import { Controller, Get, Header } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../../access/access.js';
import { SCOPE_NAMES } from '../../access/scopes.js';
import { Config } from '../../platform/config/config.js';
import { ASYMMETRIC_ALGORITHMS } from '../credentials/key-sets/token-signature.js';
import { OAuthMetadataView } from './oauth.dto.js';
import { GRANT_TYPES } from './token-endpoint.service.js';

const METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
/** Authentication methods of RFC 8705 section 2, which are advertised only if a proxy passes client certificates to the service. */
const CERTIFICATE_METHODS = ['tls_client_auth', 'self_signed_tls_client_auth'];

@ApiTags('Authentication')
@Controller()
export class OAuthMetadataController {
  constructor(private readonly config: Config) {}

  /**
   * Get OAuth metadata
   * @remarks Describes the `/oauth` endpoints to clients (RFC 8414).
   */
  @Get('.well-known/oauth-authorization-server')
  @Public()
  @Header('cache-control', 'public, max-age=3600')
  getOAuthMetadata(): OAuthMetadataView {
    const at = (path: string) => `${this.config.publicUrl}/oauth/${path}`;
    const takesCertificates = this.config.clientCertHeader !== undefined;
    const methods = [...METHODS, ...(takesCertificates ? CERTIFICATE_METHODS : [])];
    const algorithms = [...ASYMMETRIC_ALGORITHMS];
    return {
      issuer: this.config.publicUrl,
      token_endpoint: at('token'),
      revocation_endpoint: at('revoke'),
      introspection_endpoint: at('introspect'),
      device_authorization_endpoint: at('device_authorization'),
      grant_types_supported: [...GRANT_TYPES],
      response_types_supported: [],
      scopes_supported: SCOPE_NAMES,
      token_endpoint_auth_methods_supported: [...methods, 'none'],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_methods_supported: [...methods, 'none'],
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
      dpop_signing_alg_values_supported: algorithms,
      tls_client_certificate_bound_access_tokens: takesCertificates,
    };
  }
}
