import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { InventoryModule } from './inventory/inventory.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { SigningModule, SigningWorkerModule } from './signing/signing.module.js';
import { SystemModule } from './system/system.module.js';

/** What answers. */
const ANSWERING = [
  PlatformModule,
  ScheduleModule.forRoot(),
  AuditModule,
  AuthModule,
  SigningModule,
  InventoryModule,
  SystemModule,
];
/** What works in the background. */
const WORKING = [SigningWorkerModule];

/** SVC_ROLE=api */
@Module({ imports: ANSWERING })
export class ApiModule {}

/** SVC_ROLE=worker and SVC_ROLE=all; whether HTTP is opened is up to the entry point. */
@Module({ imports: [...ANSWERING, ...WORKING] })
export class AppModule {}
