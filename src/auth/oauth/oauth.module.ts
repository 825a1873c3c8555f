import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { PeopleModule } from '../people/people.module.js';
import { WorkloadModule } from '../workload/workload.module.js';
import { AssertionAuthentication } from './assertion-authentication.js';
import { CertificateAuthentication } from './certificate-authentication.js';
import { ClientAuthentication } from './client-authentication.js';
import { ClientKeys } from './client-keys.js';
import { DeviceFlowController } from './device-flow.controller.js';
import { DeviceFlowService } from './device-flow.service.js';
import { OAuthClientChangesService } from './oauth-client-changes.service.js';
import { OAuthClientsController } from './oauth-clients.controller.js';
import { OAuthClientsService } from './oauth-clients.service.js';
import { OAuthMetadataController } from './oauth-metadata.controller.js';
import { OAuthController } from './oauth.controller.js';
import { TokenEndpointService } from './token-endpoint.service.js';
import { TokenInspectionService } from './token-inspection.service.js';

/** OAuthModule provides the OAuth 2.0 endpoints, OAuth clients and the device flow. */
@Module({
  imports: [AuditModule, CredentialsModule, PeopleModule, WorkloadModule],
  controllers: [DeviceFlowController, OAuthClientsController, OAuthController, OAuthMetadataController],
  providers: [
    AssertionAuthentication,
    CertificateAuthentication,
    ClientAuthentication,
    ClientKeys,
    DeviceFlowService,
    OAuthClientChangesService,
    OAuthClientsService,
    TokenEndpointService,
    TokenInspectionService,
  ],
})
export class OAuthModule {}
