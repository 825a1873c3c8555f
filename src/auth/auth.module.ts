import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SEALED_WORKLOAD_TOKEN } from '../access/identity/verified-identity.js';
import { AuditModule } from '../audit/audit.module.js';
import { UploadAuthorizer } from '../platform/http/bodies/raw-body.js';
import { LastingSeal } from '../platform/sealing/lasting-seal.js';
import { Seal } from '../platform/sealing/seal.js';
import { columnSealOf, SealedColumns } from '../platform/sealing/sealed-columns.js';
import { ApiKeyRenewalService } from './api-keys/api-key-renewal.service.js';
import { ApiKey } from './model/api-key.entity.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { BrowserSessions } from './browser/browser-sessions.js';
import { CsrfProtection, SessionCookie, SsoCookie } from './browser/cookies.js';
import { AccessGuard } from './callers/access.guard.js';
import { Credentials, CredentialUploadAuthorizer } from './callers/credentials.js';
import { KeyDocuments } from './key-sets/key-documents.js';
import { AccountNotices } from './model/account-notices.js';
import { Passwords } from './model/passwords.js';
import { RefreshToken, Session } from './model/session.entity.js';
import { PasswordReset, User } from './model/user.entity.js';
import { UsersService } from './model/users.service.js';
import { AssertionAuthentication } from './oauth/assertion-authentication.js';
import { CertificateAuthentication } from './oauth/certificate-authentication.js';
import { ClientAuthentication } from './oauth/client-authentication.js';
import { ClientKeys } from './oauth/client-keys.js';
import { DeviceFlowController } from './oauth/device-flow.controller.js';
import { DeviceFlowService } from './oauth/device-flow.service.js';
import { OAuthClientsController } from './oauth/oauth-clients.controller.js';
import { OAuthClientsService } from './oauth/oauth-clients.service.js';
import { OAuthMetadataController } from './oauth/oauth-metadata.controller.js';
import { OAuthController } from './oauth/oauth.controller.js';
import { DeviceAuthorization, OAuthClient } from './model/oauth.entity.js';
import { TokenEndpointService } from './oauth/token-endpoint.service.js';
import { TokenInspectionService } from './oauth/token-inspection.service.js';
import { PasswordCheck } from './passwords/password-check.js';
import { ClientCertificates } from './possession/client-certificate.js';
import { KeyPossession } from './possession/key-possession.js';
import { UsedProof, UsedProofs } from './possession/used-proofs.repository.js';
import { RightsModule } from './rights/rights.module.js';
import { PasskeysController } from './second-factors/passkeys.controller.js';
import { PasskeyChallenges, PasskeysService } from './second-factors/passkeys.service.js';
import { AccountFactors } from './second-factors/account-factors.js';
import { RecoveryCodes } from './second-factors/recovery-codes.js';
import { SecondFactorCheck } from './second-factors/second-factor-check.js';
import { PasskeyChallenge, RecoveryCode, SecondFactor } from './second-factors/second-factor.entity.js';
import { SecondFactorsController } from './second-factors/second-factors.controller.js';
import { SEALED_SEED, SecondFactorsService } from './second-factors/second-factors.service.js';
import { RefreshTokens } from './sessions/refresh-tokens.js';
import { SessionCallers } from './sessions/session-callers.js';
import { SEALED_LOGOUT_HINT, SessionsService } from './sessions/sessions.service.js';
import { CurrentSessionController, SessionsController } from './sign-in/sessions.controller.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { IdentityProviderCheck } from './sso/api/identity-provider-check.js';
import { IdentityProviderTestsController } from './sso/api/identity-provider-tests.controller.js';
import { IdentityProvidersController } from './sso/api/identity-providers.controller.js';
import { OidcController } from './sso/api/oidc.controller.js';
import { SamlController } from './sso/api/saml.controller.js';
import { SsoStepUp, SsoStepUpController } from './sso/api/sso-step-up.controller.js';
import { SsoTests } from './sso/api/sso-tests.js';
import { SsoLogin } from './sso/api/sso-login.js';
import { SsoTickets } from './sso/api/sso-tickets.js';
import { SsoController, SsoLogoutController } from './sso/api/sso.controller.js';
import { OidcLogout } from './sso/oidc/oidc-logout.js';
import { OidcProviders } from './sso/oidc/oidc-providers.js';
import { OidcService } from './sso/oidc/oidc.service.js';
import { IdentityProvider } from './model/identity-provider.entity.js';
import { IdentityProviderChanges } from './sso/providers/identity-provider-changes.service.js';
import { IdentityProvidersService, SEALED_PROVIDER_SECRET } from './sso/providers/identity-providers.service.js';
import { SamlLogout } from './sso/saml/saml-logout.js';
import { SamlMessageMarks } from './sso/saml/saml-message-marks.js';
import { SamlService } from './sso/saml/saml.service.js';
import { ProvidedRights } from './sso/sign-in/provided-rights.service.js';
import { SsoSignInService } from './sso/sign-in/sso-sign-in.service.js';
import { ProviderLogouts } from './sso/sign-in/provider-logouts.js';
import { SsoBeginnings, SsoTransactions } from './sso/sign-in/sso-transactions.js';
import { ExternalIdentity } from './model/external-identity.entity.js';
import { SamlMessageMark, SsoTransaction } from './sso/sign-in/sso.entity.js';
import { AttemptCount, Throttle } from './throttle/throttle.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { JwtStrategy } from './tokens/jwt.strategy.js';
import { TokenGrants } from './tokens/token-grants.js';
import { AccountService } from './users/account.service.js';
import { AdministratorWatch } from './users/administrator-watch.js';
import { FirstAdministrator } from './users/first-administrator.js';
import { InvitationRights } from './users/invitation-rights.js';
import { Invitation } from './users/invitation.entity.js';
import { InvitationsController } from './users/invitations.controller.js';
import { InvitationsReader } from './users/invitations.reader.js';
import { InvitationsService } from './users/invitations.service.js';
import { OperatorAccounts } from './users/operator-accounts.service.js';
import { PasswordChanges } from './users/password-changes.js';
import { PasswordResetsService } from './users/password-resets.service.js';
import { RegistrationService } from './users/registration.service.js';
import { UserAdministrationService } from './users/user-administration.service.js';
import { AccountController, UsersController } from './users/users.controller.js';
import { IssuerKeys } from './workload/issuer-keys.js';
import { WorkloadExchangeService, WorkloadTokens } from './workload/workload-exchange.service.js';
import { WorkloadIssuersController } from './workload/workload-issuers.controller.js';
import { WorkloadIssuersService } from './workload/workload-issuers.service.js';
import { WorkloadTrialService } from './workload/workload-trial.service.js';
import { WorkloadTrustsController } from './workload/workload-trusts.controller.js';
import { WorkloadTrustsService } from './workload/workload-trusts.service.js';
import { WorkloadIdentity, WorkloadIssuer, WorkloadTokenUse, WorkloadTrust } from './model/workload.entity.js';

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
  UsedProof,
  User,
  WorkloadIdentity,
  WorkloadIssuer,
  WorkloadTokenUse,
  WorkloadTrust,
];
const OAUTH = [
  AssertionAuthentication,
  CertificateAuthentication,
  ClientAuthentication,
  ClientKeys,
  DeviceFlowService,
  OAuthClientsService,
  TokenEndpointService,
  TokenInspectionService,
];
const SSO = [
  SsoCookie,
  IdentityProviderChanges,
  IdentityProvidersService,
  OidcLogout,
  OidcProviders,
  OidcService,
  IdentityProviderCheck,
  SamlLogout,
  SamlMessageMarks,
  SamlService,
  ProvidedRights,
  SsoBeginnings,
  SsoSignInService,
  SsoStepUp,
  SsoTests,
  SsoLogin,
  SsoTickets,
  ProviderLogouts,
  SsoTransactions,
];
const WORKLOADS = [
  IssuerKeys,
  KeyDocuments,
  WorkloadExchangeService,
  WorkloadIssuersService,
  WorkloadTokens,
  WorkloadTrialService,
  WorkloadTrustsService,
];
const BROWSERS = [BrowserSessions, CsrfProtection, SessionCookie];
const TOKENS = [
  AccessTokens,
  ClientCertificates,
  JwtStrategy,
  KeyPossession,
  RefreshTokens,
  SessionCallers,
  SessionsService,
  TokenGrants,
  UsedProofs,
];
const PEOPLE = [
  AccountNotices,
  AccountService,
  AdministratorWatch,
  FirstAdministrator,
  InvitationRights,
  InvitationsReader,
  InvitationsService,
  OperatorAccounts,
  PasswordChanges,
  PasswordResetsService,
  RecoveryCodes,
  PasskeyChallenges,
  PasskeysService,
  AccountFactors,
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
    IdentityProviderTestsController,
    IdentityProvidersController,
    OidcController,
    SamlController,
    SsoController,
    SsoLogoutController,
    SsoStepUpController,
    OAuthClientsController,
    OAuthController,
    OAuthMetadataController,
    SessionsController,
    SignInController,
    WorkloadIssuersController,
    WorkloadTrustsController,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: UploadAuthorizer, useClass: CredentialUploadAuthorizer },
    ApiKeyRenewalService,
    ApiKeysService,
    Credentials,
    ...BROWSERS,
    ...OAUTH,
    ...PEOPLE,
    ...SSO,
    ...TOKENS,
    ...WORKLOADS,
  ],
  exports: [ApiKeyRenewalService, ApiKeysService, Credentials, RightsModule, SignInService, UsersService],
})
export class AuthModule {
  constructor(columns: SealedColumns, lasting: LastingSeal, seal: Seal) {
    columns.add(
      { ...SEALED_SEED, seal: lasting },
      { ...SEALED_PROVIDER_SECRET, seal: lasting },
      { ...SEALED_WORKLOAD_TOKEN, seal: lasting },
      { ...SEALED_LOGOUT_HINT, seal: columnSealOf(seal) },
    );
  }
}
