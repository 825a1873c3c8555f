import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ApprovalsModule, ApprovalsWorkerModule } from './approvals/approvals.module.js';
import { AlertsModule, AlertsWorkerModule } from './alerts/alerts.module.js';
import { AuditModule, AuditWorkerModule, RestoreHoldModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { EventsModule, EventsWorkerModule } from './events/events.module.js';
import { DiscoveryModule, DiscoveryWorkerModule } from './discovery/discovery.module.js';
import { HostsModule } from './hosts/hosts.module.js';
import { InventoryModule, InventoryWorkerModule } from './inventory/inventory.module.js';
import { NotificationsModule, NotificationsWorkerModule } from './notifications/notifications.module.js';
import { PlatformModule, PlatformWorkerModule } from './platform/platform.module.js';
import { SchedulesModule, SchedulesWorkerModule } from './schedules/schedules.module.js';
import { SensorsModule, SensorsWorkerModule } from './sensors/sensors.module.js';
import { SigningModule, SigningWorkerModule } from './signing/signing.module.js';
import { SshKeysModule, SshKeysWorkerModule } from './ssh-keys/ssh-keys.module.js';
import { SystemModule } from './system/system.module.js';

/** Modules that serve API calls. */
const ANSWERING = [
  PlatformModule,
  NotificationsModule,
  ScheduleModule.forRoot(),
  AuditModule,
  AuthModule,
  EventsModule,
  ApprovalsModule,
  SigningModule,
  InventoryModule,
  HostsModule,
  DiscoveryModule,
  SshKeysModule,
  AlertsModule,
  SchedulesModule,
  SensorsModule,
  SystemModule,
];
/** Modules for background work. */
const WORKING = [
  ApprovalsWorkerModule,
  AuditWorkerModule,
  NotificationsWorkerModule,
  EventsWorkerModule,
  PlatformWorkerModule,
  SigningWorkerModule,
  DiscoveryWorkerModule,
  InventoryWorkerModule,
  SshKeysWorkerModule,
  AlertsWorkerModule,
  SchedulesWorkerModule,
  SensorsWorkerModule,
];

/** Module for the command-line program, which also works with a database in restore mode. */
@Module({ imports: ANSWERING })
export class AdministrationModule {}

/** SVC_ROLE=api */
@Module({ imports: [RestoreHoldModule, ...ANSWERING] })
export class ApiModule {}

/** SVC_ROLE=worker and SVC_ROLE=all; the entry point decides whether to listen for HTTP. */
@Module({ imports: [RestoreHoldModule, ...ANSWERING, ...WORKING] })
export class AppModule {}
