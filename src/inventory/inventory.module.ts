import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AnalyticsController } from './analytics/analytics.controller.js';
import { AnalyticsReader } from './analytics/analytics.reader.js';
import { InventoryTally } from './analytics/inventory-tally.entity.js';
import { AssetOccurrence } from './assets/asset-occurrence.entity.js';
import { Asset } from './assets/asset.entity.js';
import { AssetsController } from './assets/assets.controller.js';
import { AssetsReader } from './assets/assets.reader.js';
import { BomExporter } from './cyclonedx/bom-export.js';
import { ExportController } from './cyclonedx/export.controller.js';
import { IngestThreads } from './ingest/ingest-threads.js';
import { IngestController } from './ingest/ingest.controller.js';
import { IngestService } from './ingest/ingest.service.js';
import { InventoryDocument } from './ingest/inventory-document.entity.js';
import { InventorySource } from './ingest/inventory-source.entity.js';
import { AssetRelationship } from './relationships/asset-relationship.entity.js';
import { RelationshipsController } from './relationships/relationships.controller.js';
import { RelationshipsReader } from './relationships/relationships.reader.js';
import { QuantumRiskController } from './risk/quantum-risk.controller.js';
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
  controllers: [
    AnalyticsController,
    AssetsController,
    ExportController,
    IngestController,
    QuantumRiskController,
    RelationshipsController,
  ],
  providers: [AnalyticsReader, AssetsReader, BomExporter, IngestService, IngestThreads, RelationshipsReader],
  exports: [IngestService],
})
export class InventoryModule {}
