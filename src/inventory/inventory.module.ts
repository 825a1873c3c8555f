import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InventoryTally } from './analytics/inventory-tally.entity.js';
import { AssetOccurrence } from './assets/asset-occurrence.entity.js';
import { Asset } from './assets/asset.entity.js';
import { IngestThreads } from './ingest/ingest-threads.js';
import { IngestController } from './ingest/ingest.controller.js';
import { IngestService } from './ingest/ingest.service.js';
import { InventoryDocument } from './ingest/inventory-document.entity.js';
import { InventorySource } from './ingest/inventory-source.entity.js';
import { AssetRelationship } from './relationships/asset-relationship.entity.js';
import { RiskVerdictRow } from './risk/risk-verdict.entity.js';

/** Every cryptographic asset that is known: taken in, told apart, judged, found again and handed out. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      Asset,
      AssetOccurrence,
      AssetRelationship,
      InventoryDocument,
      InventorySource,
      InventoryTally,
      RiskVerdictRow,
    ]),
  ],
  controllers: [IngestController],
  providers: [IngestService, IngestThreads],
  exports: [IngestService],
})
export class InventoryModule {}
