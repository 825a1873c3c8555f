import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { SEALED_WORKLOAD_TOKEN } from '../access/identity/verified-identity.js';
import { UploadAuthorizer } from '../platform/http/bodies/raw-body.js';
import { LastingSeal } from '../platform/sealing/lasting-seal.js';
import { Seal } from '../platform/sealing/seal.js';
import { SealedColumns, columnSealOf } from '../platform/sealing/sealed-columns.js';
import { AccessGuard } from './credentials/callers/access.guard.js';
import { CredentialUploadAuthorizer } from './credentials/callers/credentials.js';
import { SEALED_LOGOUT_HINT } from './credentials/sessions/sessions.service.js';
import { SEALED_SEED } from './people/second-factors/second-factors.service.js';
import { SEALED_PROVIDER_SECRET } from './sso/providers/identity-providers.service.js';
import { CredentialsModule } from './credentials/credentials.module.js';
import { PeopleModule } from './people/people.module.js';
import { WorkloadModule } from './workload/workload.module.js';
import { OAuthModule } from './oauth/oauth.module.js';
import { SsoModule } from './sso/sso.module.js';

/** AuthModule combines authentication and authorization. AccessGuard checks every operation. */
@Module({
  imports: [CredentialsModule, PeopleModule, WorkloadModule, OAuthModule, SsoModule],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: UploadAuthorizer, useClass: CredentialUploadAuthorizer },
  ],
  exports: [CredentialsModule, PeopleModule],
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
