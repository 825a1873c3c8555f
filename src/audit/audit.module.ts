import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProblemFilter } from '../platform/http/problem.filter.js';
import { Refusals } from '../platform/http/refusals.js';
import { AuditEntry } from './audit-entry.entity.js';
import { AuditRefusals } from './audit-refusals.js';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry])],
  controllers: [AuditController],
  providers: [AuditService, ProblemFilter, { provide: Refusals, useClass: AuditRefusals }],
  exports: [AuditService, ProblemFilter, Refusals],
})
export class AuditModule {}
