import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { Optional, Text } from '../../../platform/http/fields/fields.js';
import { ROLE_NAMES, type RoleName } from '../../../access/scopes.js';
import {
  hasOurKey,
  type IdentityProvider,
  type IdentityProviderKind,
  type OidcRedirect,
  oidcRedirectOf,
  oidcRedirectUri,
  type OidcSettings,
  type SamlSettings,
} from '../../model/identity-provider.entity.js';
import type { SignInTrial } from '../sign-in/sign-in-trial.js';
import type { ProviderFinding } from './identity-provider-check.js';
import { ClaimRuleBody } from './identity-providers.dto.js';

export class IdentityProviderView {
  /** @example example */
  name: string;
  @ApiProperty({ enum: ['oidc', 'saml'] }) kind: IdentityProviderKind;
  /** @example 'Sign in with Example' */
  label: string;
  enabled: boolean;
  /** Settings without secrets. `ourCertificate` is the certificate of the key with which this service signs messages to the provider. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { issuer: 'https://login.example.com', clientId: 'sealwright', scopes: ['openid'] },
  })
  settings: OidcSettings | SamlSettings;
  rules: ClaimRuleBody[];
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, nullable: true, example: ['viewer'] })
  defaultRoles: RoleName[] | null;
  /** Whether a client secret is stored. */
  hasSecret: boolean;
  /**
   * Redirect URI to register with an OpenID Connect provider, or the SAML assertion consumer service.
   * @example https://sign.example.com/api/auth/oidc/callback/example
   */
  redirectUri: string;
  /**
   * `shared` means that this OpenID Connect provider still uses the redirect URI of earlier versions. Register its own redirect URI with the provider, then set
   * `redirect` to `own`.
   */
  @ApiProperty({ enum: ['own', 'shared'] }) redirect: OidcRedirect;
  /** Version of the provider. The ETag is this value in double quotes. @example 3 */
  version: number;

  static of(provider: IdentityProvider, publicUrl: string): IdentityProviderView {
    const { rules, kind, settings, name } = provider;
    const shown = rules.map((rule) => ({ ...rule, roles: [...rule.roles] }));
    const redirect = kind === 'oidc' ? oidcRedirectOf(settings) : 'own';
    const redirectUri =
      kind === 'oidc' ? oidcRedirectUri(publicUrl, name, redirect) : `${publicUrl}/api/auth/saml/callback`;
    const hasSecret = kind === 'oidc' && !hasOurKey(settings) && provider.secret !== null;
    return viewOf(IdentityProviderView, provider, { rules: shown, hasSecret, redirectUri, redirect });
  }
}

export class IdentityProviderList {
  items: IdentityProviderView[];

  static of(rows: IdentityProvider[], publicUrl: string): IdentityProviderList {
    return { items: rows.map((row) => IdentityProviderView.of(row, publicUrl)) };
  }
}

export class FindingView {
  /** Name of the check. @example discovery */
  check: string;
  ok: boolean;
  /** @example 'The issuer is https://login.example.com.' */
  detail: string;
}

export class IdentityProviderTestView {
  /** Whether all checks passed. */
  ok: boolean;
  findings: FindingView[];

  static of(findings: ProviderFinding[]): IdentityProviderTestView {
    return { ok: findings.every(({ ok }) => ok), findings };
  }
}

export class ProviderNameParam {
  /** @example example */
  @Matches(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/) name: string;
}

/** Confirms a change that ends the caller's own session. */
export class ConfirmQuery {
  /** Name of the provider. Required to disable or remove the provider through which you are signed in. @example example */
  @Optional(Text(0, 40)) confirm?: string;
}

export class StartTestBody {
  /** Path on this site to return to. The fragment contains the ticket for the result, after `#test=`. @example /settings/sign-in */
  @Optional(Text(0, 500)) returnTo?: string;
}

export class TestStartedView {
  /** URL to which to redirect the browser. @example https://login.example.com/authorize?client_id=sealwright */
  redirect: string;
}

export class TestTicketBody {
  /** The ticket from the fragment. @example sw_session_0a1b */
  @Text(1, 200) ticket: string;
}

export class TestProblemView {
  /** Code of the problem, as in a sign-in. @example sso.no-role */
  code: string;
  /** Detail of the problem that the user would see. @example "None of this identity provider's rules grants you a role. Contact an administrator." */
  detail: string;
  /** Technical reason; null if the detail is the whole reason. @example 'unexpected "iss" (issuer) claim value' */
  reason: string | null;
}

export class TestAccountView {
  /** @example ada@example.com */
  email: string;
  /** Whether the sign-in would create the account. */
  isNew: boolean;
}

/** The result of a test: what a sign-in would do. No user was signed in, and nothing was changed. */
export class SignInTrialView {
  /** @example example */
  provider: string;
  /** Reason why the sign-in would be refused; null if the sign-in would succeed. */
  @ApiProperty({ type: () => TestProblemView, nullable: true, example: null }) problem: TestProblemView | null;
  /** The provider's identifier for the person; null if the response was refused. @example 'ada-248289761001' */
  subject: string | null;
  /** Verified claims or attributes. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { email: 'ada@example.com', groups: ['release'] },
  })
  claims: Record<string, unknown>;
  /** Authentication contexts: `acr`, or the AuthnContextClassRefs. @example ["phr"] */
  contexts: string[];
  /** Authentication methods (`amr`, RFC 8176). @example ["pwd", "otp"] */
  methods: string[];
  /** The rules that match. */
  matched: ClaimRuleBody[];
  /** Roles that the user would have. */
  @ApiProperty({ enum: ROLE_NAMES, isArray: true, example: ['operator'] }) roles: RoleName[];
  /** Groups that the user would have. @example ["release"] */
  groups: string[];
  /** The account that the sign-in would use; null if the sign-in would use no account. */
  @ApiProperty({
    type: () => TestAccountView,
    nullable: true,
    example: { email: 'ada@example.com', isNew: false },
  })
  account: TestAccountView | null;

  static of(trial: SignInTrial): SignInTrialView {
    const { contexts, methods, matched, roles, groups, named: _, ...rest } = trial;
    const rules = matched.map((rule) => ({ ...rule, roles: [...rule.roles] }));
    const lists = { contexts: [...contexts], methods: [...methods], roles: [...roles], groups: [...groups] };
    return { ...rest, ...lists, matched: rules };
  }
}
