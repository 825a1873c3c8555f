import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { HostsModule } from '../hosts/hosts.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { signalRelay } from '../platform/queue/signal-relay.js';
import { DeepScan } from './deep/deep-scan.js';
import { ScanWorker } from './scans/scan.worker.js';
import { ProbeBudget, ProbeWindow } from './scans/probe-budget.js';
import { ScanRepository } from './scans/scan.repository.js';
import { ScanPlanner } from './scans/scan-planner.js';
import { TargetProber } from './scans/target-prober.js';
import { ScanResult } from './scan-result.entity.js';
import { ScanSweep } from './scans/scan-sweep.js';
import { DISCOVERY_QUEUE, Scan, ScanScope } from './scan.entity.js';
import { ScanEventsController, ScansController } from './scans/scans.controller.js';
import { ScansReader } from './scans/scans.reader.js';
import { DiscoveryScanTarget, ScansService } from './scans/scans.service.js';
import { ScanScopesController } from './scopes/scan-scopes.controller.js';
import { ScanScopesService } from './scopes/scan-scopes.service.js';
import { ScopeGuard } from './scopes/scope-guard.js';

/** Discovers hosts, keys and certificates on the network, within scopes defined by administrators. */
@Module({
  imports: [
    HostsModule,
    QueueModule,
    BullModule.registerQueue({ name: DISCOVERY_QUEUE }),
    TypeOrmModule.forFeature([ProbeWindow, Scan, ScanResult, ScanScope]),
  ],
  controllers: [ScanEventsController, ScanScopesController, ScansController],
  providers: [
    DiscoveryScanTarget,
    ScanPlanner,
    ScanRepository,
    ScanScopesService,
    ScansReader,
    ScansService,
    ScopeGuard,
    signalRelay(DISCOVERY_QUEUE, 1, (scanIds) => ({ scanIds })),
  ],
  exports: [BullModule, HostsModule, ScanRepository, ScopeGuard],
})
export class DiscoveryModule {}

/** Runs the scans in the background. */
@Module({
  imports: [DiscoveryModule],
  providers: [DeepScan, ProbeBudget, ScanSweep, ScanWorker, TargetProber],
})
export class DiscoveryWorkerModule {}
