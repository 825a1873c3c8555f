import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { UploadAuthorizer } from '../platform/http/bodies/raw-body.js';
import { AccessGuard } from './callers/access.guard.js';
import { ApiKeyRenewalService } from './api-keys/api-key-renewal.service.js';
import { ApiKey } from './api-keys/api-key.entity.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { RenewalSchedule } from './api-keys/renewal.schedule.js';
import { AuthSchedule } from './auth.schedule.js';
import { CredentialUploadAuthorizer } from './callers/credential-upload-authorizer.js';
import { BrowserSessions } from './browser/browser-sessions.js';
import { OwnPages } from './browser/own-pages.js';
import { SessionCookie } from './browser/session-cookie.js';
import { Credentials } from './callers/credentials.js';
import { ClientAuthentication } from './oauth/client-authentication.js';
import { DeviceAuthorization } from './oauth/device-authorization.entity.js';
import { DeviceFlowController } from './oauth/device-flow.controller.js';
import { DeviceFlowService } from './oauth/device-flow.service.js';
import { OAuthClient } from './oauth/oauth-client.entity.js';
import { OAuthClientsController } from './oauth/oauth-clients.controller.js';
import { OAuthClientsService } from './oauth/oauth-clients.service.js';
import { OAuthController } from './oauth/oauth.controller.js';
import { TokenEndpointService } from './oauth/token-endpoint.service.js';
import { TokenInspectionService } from './oauth/token-inspection.service.js';
import { PasskeyChallenge } from './second-factors/passkey-challenge.entity.js';
import { PasskeyChallenges } from './second-factors/passkey-challenges.js';
import { PasskeysController } from './second-factors/passkeys.controller.js';
import { PasskeysService } from './second-factors/passkeys.service.js';
import { RecoveryCode } from './second-factors/recovery-code.entity.js';
import { RecoveryCodes } from './second-factors/recovery-codes.js';
import { SecondFactorCheck } from './second-factors/second-factor-check.js';
import { SecondFactor } from './second-factors/second-factor.entity.js';
import { SecondFactorsController } from './second-factors/second-factors.controller.js';
import { SecondFactorsService } from './second-factors/second-factors.service.js';
import { RightsModule } from './rights/rights.module.js';
import { RefreshToken } from './sessions/refresh-token.entity.js';
import { RefreshTokens } from './sessions/refresh-tokens.js';
import { CurrentSessionController } from './sign-in/current-session.controller.js';
import { SessionCallers } from './sessions/session-callers.js';
import { Session } from './model/session.entity.js';
import { SessionsController } from './sessions/sessions.controller.js';
import { SessionsService } from './sessions/sessions.service.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { BrowserCookie } from './sso/browser-cookie.js';
import { ExternalIdentity } from './sso/external-identity.entity.js';
import { IdentityProvider } from './sso/identity-provider.entity.js';
import { IdentityProviderCheck } from './sso/identity-provider-check.js';
import { IdentityProvidersController } from './sso/identity-providers.controller.js';
import { IdentityProvidersService } from './sso/identity-providers.service.js';
import { OidcController } from './sso/oidc.controller.js';
import { OidcLogout } from './sso/oidc-logout.js';
import { OidcProviders } from './sso/oidc-providers.js';
import { OidcService } from './sso/oidc.service.js';
import { SamlController } from './sso/saml.controller.js';
import { SamlLogout } from './sso/saml-logout.js';
import { SamlMessageMark } from './sso/saml-message-mark.entity.js';
import { SamlMessageMarks } from './sso/saml-message-marks.js';
import { SamlService } from './sso/saml.service.js';
import { SsoLogoutController } from './sso/sso-logout.controller.js';
import { SsoBeginnings } from './sso/sso-beginnings.js';
import { SsoSignInService } from './sso/sso-sign-in.service.js';
import { SsoStepUpController } from './sso/sso-step-up.controller.js';
import { SsoStepUp } from './sso/sso-step-up.js';
import { SsoTickets } from './sso/sso-tickets.js';
import { SsoTransaction } from './sso/sso-transaction.entity.js';
import { SsoTransactions } from './sso/sso-transactions.js';
import { SsoController } from './sso/sso.controller.js';
import { SsoSchedule } from './sso/sso.schedule.js';
import { AttemptCount } from './throttle/attempt-count.entity.js';
import { Throttle } from './throttle/throttle.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { JwtStrategy } from './tokens/jwt.strategy.js';
import { TokenGrants } from './tokens/token-grants.js';
import { AccountController } from './users/account.controller.js';
import { AccountNotices } from './notices/account-notices.js';
import { AccountService } from './users/account.service.js';
import { FirstAdministrator } from './users/first-administrator.js';
import { Invitation } from './users/invitation.entity.js';
import { InvitationRights } from './users/invitation-rights.js';
import { InvitationsController } from './users/invitations.controller.js';
import { InvitationsService } from './users/invitations.service.js';
import { PasswordChanges } from './users/password-changes.js';
import { PasswordReset } from './users/password-reset.entity.js';
import { PasswordResetsService } from './users/password-resets.service.js';
import { UserAdministrationService } from './users/user-administration.service.js';
import { UsersController } from './users/users.controller.js';
import { PasswordCheck } from './passwords/password-check.js';
import { Passwords } from './model/passwords.js';
import { RegistrationService } from './users/registration.service.js';
import { User } from './model/user.entity.js';
import { UsersService } from './model/users.service.js';

const ENTITIES = [
  ApiKey,
  AttemptCount,
  DeviceAuthorization,
  ExternalIdentity,
  IdentityProvider,
  Invitation,
  OAuthClient,
  PasskeyChallenge,
  PasswordReset,
  RecoveryCode,
  RefreshToken,
  SamlMessageMark,
  SecondFactor,
  Session,
  SsoTransaction,
  User,
];
const OAUTH = [
  ClientAuthentication,
  DeviceFlowService,
  OAuthClientsService,
  TokenEndpointService,
  TokenInspectionService,
];
const SSO = [
  BrowserCookie,
  IdentityProvidersService,
  OidcLogout,
  OidcProviders,
  OidcService,
  IdentityProviderCheck,
  SamlLogout,
  SamlMessageMarks,
  SamlService,
  SsoBeginnings,
  SsoSchedule,
  SsoSignInService,
  SsoStepUp,
  SsoTickets,
  SsoTransactions,
];
const BROWSERS = [BrowserSessions, OwnPages, SessionCookie];
const TOKENS = [AccessTokens, JwtStrategy, RefreshTokens, SessionCallers, SessionsService, TokenGrants];
const PEOPLE = [
  AccountNotices,
  AccountService,
  FirstAdministrator,
  InvitationRights,
  InvitationsService,
  PasswordChanges,
  PasswordResetsService,
  RecoveryCodes,
  PasskeyChallenges,
  PasskeysService,
  SecondFactorCheck,
  SecondFactorsService,
  UserAdministrationService,
  PasswordCheck,
  Passwords,
  RegistrationService,
  SignInService,
  Throttle,
  UsersService,
];

@Module({
  imports: [AuditModule, RightsModule, TypeOrmModule.forFeature(ENTITIES)],
  controllers: [
    AccountController,
    ApiKeysController,
    CurrentSessionController,
    InvitationsController,
    PasskeysController,
    SecondFactorsController,
    UsersController,
    DeviceFlowController,
    IdentityProvidersController,
    OidcController,
    SamlController,
    SsoController,
    SsoLogoutController,
    SsoStepUpController,
    OAuthClientsController,
    OAuthController,
    SessionsController,
    SignInController,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: UploadAuthorizer, useClass: CredentialUploadAuthorizer },
    ApiKeyRenewalService,
    ApiKeysService,
    AuthSchedule,
    RenewalSchedule,
    Credentials,
    ...BROWSERS,
    ...OAUTH,
    ...PEOPLE,
    ...SSO,
    ...TOKENS,
  ],
  exports: [ApiKeyRenewalService, ApiKeysService, Credentials, RightsModule, SignInService, UsersService],
})
export class AuthModule {}
