import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { HostsModule } from '../hosts/hosts.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { DeepScan } from './deep/deep-scan.js';
import { DISCOVERY_QUEUE } from './scans/discovery.queue.js';
import { DiscoveryProcessor } from './scans/discovery.processor.js';
import { DiscoveryRelay } from './scans/discovery-relay.js';
import { DiscoveryScanTarget } from './scans/discovery-scan.target.js';
import { DiscoverySchedule } from './scans/discovery.schedule.js';
import { NetworkProbes } from './scans/network-probes.js';
import { ProbeBudget } from './scans/probe-budget.js';
import { ProbeWindow } from './scans/probe-window.entity.js';
import { ScanEventsController } from './scans/scan-events.controller.js';
import { ScanRepository } from './scans/scan.repository.js';
import { ScanOrders } from './scans/scan-planner.js';
import { TargetProber } from './scans/target-prober.js';
import { ScanResult } from './model/scan-result.entity.js';
import { ScanRunner } from './scans/scan.worker.js';
import { ScanSweep } from './scans/scan-sweep.js';
import { ScanWatch } from './scans/scan-watch.js';
import { Scan } from './model/scan.entity.js';
import { ScansController } from './scans/scans.controller.js';
import { ScansReader } from './scans/scans.reader.js';
import { ScansService } from './scans/scans.service.js';
import { ScanScope } from './scopes/scan-scope.entity.js';
import { ScanScopesController } from './scopes/scan-scopes.controller.js';
import { ScanScopesService } from './scopes/scan-scopes.service.js';
import { ScopeGuard } from './scopes/scope-guard.js';

/** Finds hosts, keys and certificates on the network, within what administrators allow. */
@Module({
  imports: [
    HostsModule,
    QueueModule,
    BullModule.registerQueue({ name: DISCOVERY_QUEUE }),
    TypeOrmModule.forFeature([ProbeWindow, Scan, ScanResult, ScanScope]),
  ],
  controllers: [ScanEventsController, ScanScopesController, ScansController],
  providers: [
    DeepScan,
    DiscoveryRelay,
    DiscoveryScanTarget,
    NetworkProbes,
    ProbeBudget,
    ScanRepository,
    ScanOrders,
    TargetProber,
    ScanRunner,
    ScanSweep,
    ScanScopesService,
    ScanWatch,
    ScansReader,
    ScansService,
    ScopeGuard,
  ],
  exports: [BullModule, ScanRunner],
})
export class DiscoveryModule {}

/** The background half. */
@Module({ imports: [DiscoveryModule], providers: [DiscoveryProcessor, DiscoverySchedule] })
export class DiscoveryWorkerModule {}
