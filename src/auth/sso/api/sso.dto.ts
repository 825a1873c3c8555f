import { ApiProperty } from '@nestjs/swagger';
import { OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';

export class SsoLoginQuery {
  /** Name of the identity provider; optional if there is only one. */
  @Optional(Text(1, 40)) provider?: string;
  /** Path on this site to return to. The fragment contains the ticket or, if a sign-in with `answer=cookie` fails, the error code. */
  @Optional(Text(0, 500)) returnTo?: string;
  /**
   * Result of the sign-in. `ticket` (default): a ticket that can be exchanged for tokens at `sso/tokens`. `cookie`: the browser receives a session in a cookie.
   */
  @Optional(OneOf(['ticket', 'cookie'])) answer?: 'ticket' | 'cookie';
}

export class CompleteQuery {
  @Text(1, 200) ticket: string;
}

export class FrontChannelQuery {
  @Text(1, 300) iss: string;
  @Text(1, 300) sid: string;
}

export class OidcKeysQuery {
  /** Name of the identity provider; optional if there is only one. */
  @Optional(Text(1, 40)) provider?: string;
}

export class OidcKeySetView {
  /** JWKs (RFC 7517) with the certificate (x5c) and the certificate's hash, which is also the key ID. */
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    example: [{ kty: 'RSA', kid: 'q0Xo', use: 'sig', alg: 'RS256', n: 'sXch', e: 'AQAB' }],
  })
  keys: Record<string, unknown>[];
}

export class SignOutView {
  /**
   * URL to which to redirect the browser, so that the user is also signed out at the provider; null if no logout URL is available.
   * @example https://login.example.com/session/end?id_token_hint=e30
   */
  redirect: string | null;
}

export class SsoStepUpBody {
  /** Path on this site to return to. After a failure, the fragment contains the error code, after `#error=`. @example /console */
  @Optional(Text(0, 500)) returnTo?: string;
}

export class SsoStepUpView {
  /** URL to which to redirect the browser. @example 'https://login.example.com/authorize?prompt=login&max_age=0' */
  redirect: string;
}

export class SamlMetadataQuery {
  @Optional(Text(1, 40)) provider?: string;
}

/** Parameters of the HTTP-Redirect binding (SAML bindings, section 3.4). */
export class SamlLogoutQuery {
  /** LogoutRequest, deflated, base64. */
  @Optional(Text(0, 20_000)) SAMLRequest?: string;
  /** LogoutResponse, deflated, base64. */
  @Optional(Text(0, 20_000)) SAMLResponse?: string;
  @Optional(Text(0, 1000)) RelayState?: string;
  @Optional(Text(0, 200)) SigAlg?: string;
  @Optional(Text(0, 4000)) Signature?: string;
}

export class TicketBody {
  /** Ticket from the fragment of the URL, after `#ticket=`. @example sw_session_0a1b */
  @Text(1, 200) ticket: string;
}

export class SsoChoiceView {
  /** @example example */
  name: string;
  @ApiProperty({ enum: ['oidc', 'saml'] }) kind: 'oidc' | 'saml';
  /** Label of the sign-in button. @example 'Sign in with Example' */
  label: string;
  /** URL path of the sign-in button. @example /api/auth/oidc/login?provider=example */
  login: string;
}

export class SsoChoices {
  items: SsoChoiceView[];
}
