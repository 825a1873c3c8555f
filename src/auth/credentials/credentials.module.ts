import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module.js';
import { RightsModule } from '../rights/rights.module.js';
import { AccountNotices } from '../model/account-notices.js';
import { ApiKey } from '../model/api-key.entity.js';
import { ExternalIdentity } from '../model/external-identity.entity.js';
import { IdentityProvider } from '../model/identity-provider.entity.js';
import { DeviceAuthorization, OAuthClient } from '../model/oauth.entity.js';
import { PasswordCheck } from '../model/password-check.js';
import { Passwords } from '../model/passwords.js';
import { RefreshToken, Session } from '../model/session.entity.js';
import { AttemptCount, Throttle } from '../model/throttle.js';
import { PasswordReset, User } from '../model/user.entity.js';
import { UsersService } from '../model/users.service.js';
import { WorkloadIdentity, WorkloadIssuer, WorkloadTokenUse, WorkloadTrust } from '../model/workload.entity.js';
import { ApiKeyChangesService } from './api-keys/api-key-changes.service.js';
import { ApiKeyRenewalService } from './api-keys/api-key-renewal.service.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { AccessTokens } from './callers/access-tokens.js';
import { BrowserSessions } from './callers/browser-sessions.js';
import { CsrfProtection, SessionCookie, SsoCookie } from './callers/cookies.js';
import { Credentials } from './callers/credentials.js';
import { JwtStrategy } from './callers/jwt.strategy.js';
import { TokenGrants } from './callers/token-grants.js';
import { KeyDocuments } from './key-sets/key-documents.js';
import { ClientCertificates } from './possession/client-certificate.js';
import { KeyPossession } from './possession/key-possession.js';
import { UsedProof, UsedProofs } from './possession/used-proofs.repository.js';
import { RefreshTokens } from './sessions/refresh-tokens.js';
import { SessionCallers } from './sessions/session-callers.js';
import { SessionsService } from './sessions/sessions.service.js';

/** CredentialsModule authenticates callers with API keys, sessions, tokens and proofs of possession. */
@Module({
  imports: [
    AuditModule,
    RightsModule,
    TypeOrmModule.forFeature([
      ApiKey,
      AttemptCount,
      DeviceAuthorization,
      ExternalIdentity,
      IdentityProvider,
      OAuthClient,
      PasswordReset,
      RefreshToken,
      Session,
      UsedProof,
      User,
      WorkloadIdentity,
      WorkloadIssuer,
      WorkloadTokenUse,
      WorkloadTrust,
    ]),
  ],
  controllers: [ApiKeysController],
  providers: [
    AccessTokens,
    AccountNotices,
    ApiKeyChangesService,
    ApiKeyRenewalService,
    ApiKeysService,
    BrowserSessions,
    ClientCertificates,
    Credentials,
    CsrfProtection,
    JwtStrategy,
    KeyDocuments,
    KeyPossession,
    PasswordCheck,
    Passwords,
    RefreshTokens,
    SessionCallers,
    SessionCookie,
    SessionsService,
    SsoCookie,
    Throttle,
    TokenGrants,
    UsedProofs,
    UsersService,
  ],
  exports: [
    RightsModule,
    AccessTokens,
    AccountNotices,
    ApiKeyRenewalService,
    ApiKeysService,
    BrowserSessions,
    ClientCertificates,
    Credentials,
    CsrfProtection,
    KeyDocuments,
    KeyPossession,
    PasswordCheck,
    Passwords,
    RefreshTokens,
    SessionCookie,
    SessionsService,
    SsoCookie,
    Throttle,
    TokenGrants,
    UsedProofs,
    UsersService,
  ],
})
export class CredentialsModule {}
