import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { PeopleModule } from '../people/people.module.js';
import { OAuthModule } from '../oauth/oauth.module.js';
import { IdentityProviderCheck } from './api/identity-provider-check.js';
import { IdentityProviderTestsController } from './api/identity-provider-tests.controller.js';
import { IdentityProvidersController } from './api/identity-providers.controller.js';
import { OidcController } from './api/oidc.controller.js';
import { SamlController } from './api/saml.controller.js';
import { SsoLogin } from './api/sso-login.js';
import { SsoStepUp, SsoStepUpController } from './api/sso-step-up.controller.js';
import { SsoTests } from './api/sso-tests.js';
import { SsoTickets } from './api/sso-tickets.js';
import { SsoController, SsoLogoutController } from './api/sso.controller.js';
import { OidcLogout } from './oidc/oidc-logout.js';
import { OidcProviders } from './oidc/oidc-providers.js';
import { OidcService } from './oidc/oidc.service.js';
import { IdentityProviderChanges } from './providers/identity-provider-changes.service.js';
import { IdentityProvidersService } from './providers/identity-providers.service.js';
import { SamlLogout } from './saml/saml-logout.js';
import { SamlMessageMarks } from './saml/saml-message-marks.js';
import { SamlService } from './saml/saml.service.js';
import { ProvidedRights } from './sign-in/provided-rights.service.js';
import { ProviderLogouts } from './sign-in/provider-logouts.js';
import { SsoSignInService } from './sign-in/sso-sign-in.service.js';
import { SsoBeginnings, SsoTransactions } from './sign-in/sso-transactions.js';
import { SamlMessageMark, SsoTransaction } from './sign-in/sso.entity.js';

/** SsoModule implements sign-in through OpenID Connect and SAML identity providers. */
@Module({
  imports: [
    AuditModule,
    CredentialsModule,
    PeopleModule,
    OAuthModule,
    TypeOrmModule.forFeature([SamlMessageMark, SsoTransaction]),
  ],
  controllers: [
    IdentityProviderTestsController,
    IdentityProvidersController,
    OidcController,
    SamlController,
    SsoController,
    SsoLogoutController,
    SsoStepUpController,
  ],
  providers: [
    IdentityProviderChanges,
    IdentityProviderCheck,
    IdentityProvidersService,
    OidcLogout,
    OidcProviders,
    OidcService,
    ProvidedRights,
    ProviderLogouts,
    SamlLogout,
    SamlMessageMarks,
    SamlService,
    SsoBeginnings,
    SsoLogin,
    SsoSignInService,
    SsoStepUp,
    SsoTests,
    SsoTickets,
    SsoTransactions,
  ],
  exports: [IdentityProvidersService],
})
export class SsoModule {}
