import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { describeWebhooks } from '../events/event-schemas.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { ApiDocument } from '../platform/http/server/api-document.js';
import { ConsoleController } from './console/console.controller.js';
import { ConsoleFiles } from './console/console-files.js';
import { ExplorerController } from './console/explorer.controller.js';
import { ExplorerService } from './console/explorer.service.js';
import { HealthController } from './health/health.controller.js';
import { HealthService } from './health/health.service.js';
import { MailTestService } from './settings/mail-test.service.js';
import { DatabasePool, OperationsMetrics } from './operations/operations.metrics.js';
import { OperationsReader } from './operations/operations.reader.js';
import { OperationsService } from './operations/operations.service.js';
import { ConfiguredRetention } from './operations/configured-retention.js';
import { SettingsController } from './settings/settings.controller.js';

@Module({
  imports: [AuthModule, HsmModule, QueueModule],
  controllers: [ConsoleController, ExplorerController, HealthController, SettingsController],
  providers: [
    { provide: ApiDocument, useFactory: () => new ApiDocument(describeWebhooks) },
    ConsoleFiles,
    DatabasePool,
    ExplorerService,
    HealthService,
    MailTestService,
    OperationsMetrics,
    OperationsReader,
    OperationsService,
    ConfiguredRetention,
  ],
  exports: [OperationsService],
})
export class SystemModule {}
