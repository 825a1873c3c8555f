import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { IssuerKeys } from './issuer-keys.js';
import { WorkloadExchangeService, WorkloadTokens } from './workload-exchange.service.js';
import { WorkloadIssuersController } from './workload-issuers.controller.js';
import { WorkloadIssuersService } from './workload-issuers.service.js';
import { WorkloadTrialService } from './workload-trial.service.js';
import { WorkloadTrustsController } from './workload-trusts.controller.js';
import { WorkloadTrustsService } from './workload-trusts.service.js';

/** WorkloadModule exchanges the identity tokens of workloads, such as runs of a build system, for access tokens. */
@Module({
  imports: [AuditModule, CredentialsModule],
  controllers: [WorkloadIssuersController, WorkloadTrustsController],
  providers: [
    IssuerKeys,
    WorkloadExchangeService,
    WorkloadIssuersService,
    WorkloadTokens,
    WorkloadTrialService,
    WorkloadTrustsService,
  ],
  exports: [WorkloadExchangeService],
})
export class WorkloadModule {}
