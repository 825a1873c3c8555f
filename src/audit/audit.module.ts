import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KeyVault } from '../hsm/key-vault.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { Config } from '../platform/config/config.js';
import { AdoptionMark } from '../platform/sealing/row-seal-epoch.js';
import { ProblemFilter, Refusals } from '../platform/http/server/problem.filter.js';
import { AuditEntry } from './entries/audit-entry.entity.js';
import { AuditRefusals } from './entries/audit-refusals.js';
import { AuditSeals } from './entries/audit-seals.js';
import { AuditStream, AuditStreamRepository } from './stream/audit-stream.repository.js';
import { AuditStreamWorker } from './stream/audit-stream.worker.js';
import { AuditController, LogController } from './audit.controller.js';
import { AuditService } from './entries/audit.service.js';
import { LeafRowsReader } from './log/log-leaf.js';
import { LogAcceptance } from './log/log-acceptance.js';
import { LogAnchors } from './log/log-anchors.js';
import { LogCheckpoint, LogKey, LogHead, LogLeaf, LogTile, LogWaiting } from './log/log.entity.js';
import { LogCheckTarget } from './log/log-check.target.js';
import { LogExport } from './log/log-export.js';
import { LogGaps } from './log/log-gaps.js';
import { LogHealth } from './log/log-health.js';
import { LogKeys } from './log/log-keys.js';
import { LogRestore } from './log/log-restore.js';
import { RestoredDatabase } from './log/restored-databases.repository.js';
import { RestoreHold } from './log/restore-hold.js';
import { LogReader } from './log/log-reader.js';
import { LogSequencer } from './log/log-sequencer.js';
import { LogWitness } from './log/log-witness.js';
import { AuditBackground } from './audit-background.js';
import { RowAdoption } from './history/row-adoption.js';
import { RowRefusals } from './history/row-refusals.js';
import { RightsLedger } from './history/rights-ledger.js';
import { RightsSnapshot } from './history/rights-snapshot.entity.js';
import { VerifiedLeaves } from './history/verified-leaves.js';
import { VouchedEntries } from './log/vouched-entries.js';

@Global()
@Module({
  imports: [
    HsmModule,
    TypeOrmModule.forFeature([
      AuditEntry,
      AuditStream,
      LogWaiting,
      LogLeaf,
      LogTile,
      LogHead,
      LogKey,
      LogCheckpoint,
      RestoredDatabase,
      RightsSnapshot,
    ]),
  ],
  controllers: [AuditController, LogController],
  providers: [
    AuditService,
    AuditStreamRepository,
    ProblemFilter,
    AuditSeals,
    LeafRowsReader,
    LogAcceptance,
    LogAnchors,
    LogCheckTarget,
    LogGaps,
    LogKeys,
    LogReader,
    LogRestore,
    LogExport,
    LogHealth,
    RightsLedger,
    RowRefusals,
    VerifiedLeaves,
    VouchedEntries,
    { provide: AdoptionMark, useClass: RowAdoption },
    { provide: Refusals, useClass: AuditRefusals },
  ],
  exports: [
    AdoptionMark,
    AuditSeals,
    AuditService,
    AuditStreamRepository,
    LeafRowsReader,
    ProblemFilter,
    Refusals,
    LogAcceptance,
    LogAnchors,
    LogExport,
    LogKeys,
    LogReader,
    LogRestore,
    RightsLedger,
    VerifiedLeaves,
    VouchedEntries,
  ],
})
export class AuditModule {}

/** RestoreHoldModule checks that the database and the token match. The other modules of the process start only after the check. */
@Module({
  providers: [
    {
      provide: RestoreHold,
      inject: [LogRestore, KeyVault, Config],
      useFactory: async (...parts: ConstructorParameters<typeof RestoreHold>) => {
        const hold = new RestoreHold(...parts);
        await hold.pass();
        return hold;
      },
    },
  ],
})
export class RestoreHoldModule {}

/** AuditWorkerModule appends entries to the log, signs checkpoints and sends the log to its receivers, in every process with background work. */
@Module({
  providers: [AuditBackground, AuditStreamWorker, LogSequencer, LogWitness],
})
export class AuditWorkerModule {}
