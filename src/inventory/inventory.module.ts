import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SigningModule } from '../signing/signing.module.js';
import { AnalyticsController } from './analytics/analytics.controller.js';
import { AnalyticsReader } from './analytics/analytics.reader.js';
import { CountReconciler } from './analytics/count-reconciler.service.js';
import {
  InventorySnapshot,
  InventoryRecount,
  InventorySourceCount,
  InventoryTally,
} from './analytics/inventory-counts.entity.js';
import { SnapshotTarget } from './analytics/snapshot.target.js';
import { SnapshotTaker } from './analytics/snapshot-taker.js';
import { SourceCounter } from './analytics/source-counter.js';
import { AssetAnnotationsService } from './assets/asset-annotations.service.js';
import { Attestation, PolicyPackRow, PolicyScope } from './attestations/attestation.entity.js';
import { AttestationsController } from './attestations/attestations.controller.js';
import { AttestationsService } from './attestations/attestations.service.js';
import { PolicyPacksController } from './attestations/policy-packs.controller.js';
import { PolicyJudge } from './attestations/policy-judge.service.js';
import { PolicyPacksService } from './attestations/policy-packs.service.js';
import { PolicyCheckTarget } from './attestations/policy-check.target.js';
import { SignedDeclarations } from './attestations/declarations.js';
import { PolicyEvaluator } from './attestations/policy-evaluator.js';
import { AssetCsv } from './exports/asset-csv.js';
import { AssetOccurrence } from './assets/asset-occurrence.entity.js';
import { AssetSourceName } from './assets/asset-source-name.entity.js';
import { Asset } from './assets/asset.entity.js';
import { AssetsController } from './assets/assets.controller.js';
import { AssetPages } from './assets/asset-pages.reader.js';
import { AssetsReader } from './assets/assets.reader.js';
import { SearchIndexer } from './assets/search-indexer.service.js';
import { BomLinkController } from './bom-link/bom-link.controller.js';
import { BomLinkExport, BomLinkRefs, BomLinksReader } from './bom-link/bom-links.reader.js';
import { BomExporter } from './exports/bom-export.js';
import { OwnComponents } from './exports/own-components.js';
import { ExportController } from './exports/export.controller.js';
import { Exports } from './exports/exports.js';
import { DemoController } from './demo/demo.controller.js';
import { DemoService } from './demo/demo.service.js';
import { ImportBodies } from './imports/import-bodies.js';
import { ImportRunner } from './imports/import-runner.js';
import { ImportsController } from './imports/imports.controller.js';
import { ImportsService } from './imports/imports.service.js';
import { InventoryImport, InventoryImportPart } from './imports/inventory-import.entity.js';
import { FoundAssetsConsumer } from './imports/found-assets.consumer.js';
import { IngestThreads } from './imports/ingest-threads.js';
import { IngestController } from './imports/ingest.controller.js';
import { IngestService } from './imports/ingest.service.js';
import { InventoryDocument } from './model/inventory-document.entity.js';
import { InventorySource } from './model/inventory-source.entity.js';
import { AssetRelationship } from './model/asset-relationship.entity.js';
import { RelationshipsController } from './relationships/relationships.controller.js';
import { RelationshipsReader } from './relationships/relationships.reader.js';
import { JurisdictionsController } from './jurisdictions/jurisdictions.controller.js';
import { DeadlinesReader } from './jurisdictions/deadlines.reader.js';
import { JurisdictionsReader } from './jurisdictions/jurisdictions.reader.js';
import { OwnNamesController, QuantumRiskController } from './risk-rules/quantum-risk.controller.js';
import { OwnNamesService } from './risk-rules/own-names.service.js';
import { Rereader } from './rereading/rereader.js';
import { Reclassifier } from './risk-rules/reclassifier.js';
import { ReclassifyTarget } from './risk-rules/reclassify.target.js';
import { RiskRuleSet } from './risk/risk-rule-set.entity.js';
import { RuleBook } from './risk/rule-book.js';
import { RuleChangesService } from './risk-rules/rule-changes.service.js';
import { RuleTrial } from './risk-rules/rule-trial.js';
import { RiskVerdictRow } from './risk/risk-verdict.entity.js';
import { SavedView, SavedViewsService } from './views/saved-views.service.js';
import { SavedViewsController } from './views/saved-views.controller.js';

/** The inventory of cryptographic assets: ingest, identity, risk, search and export. */
@Module({
  imports: [
    SigningModule,
    TypeOrmModule.forFeature([
      Asset,
      AssetOccurrence,
      AssetSourceName,
      AssetRelationship,
      Attestation,
      BomLinkExport,
      BomLinkRefs,
      InventoryDocument,
      InventoryImport,
      InventoryImportPart,
      InventoryRecount,
      InventorySnapshot,
      InventorySource,
      InventorySourceCount,
      InventoryTally,
      PolicyPackRow,
      PolicyScope,
      RiskRuleSet,
      RiskVerdictRow,
      SavedView,
    ]),
  ],
  controllers: [
    AnalyticsController,
    AssetsController,
    AttestationsController,
    PolicyPacksController,
    BomLinkController,
    DemoController,
    ExportController,
    ImportsController,
    IngestController,
    JurisdictionsController,
    OwnNamesController,
    QuantumRiskController,
    RelationshipsController,
    SavedViewsController,
  ],
  providers: [
    AnalyticsReader,
    AssetAnnotationsService,
    AssetCsv,
    AssetPages,
    AssetsReader,
    AttestationsService,
    PolicyJudge,
    PolicyPacksService,
    PolicyCheckTarget,
    PolicyEvaluator,
    SignedDeclarations,
    SavedViewsService,
    BomExporter,
    Exports,
    OwnComponents,
    OwnNamesService,
    BomLinksReader,
    CountReconciler,
    DemoService,
    ImportBodies,
    ImportRunner,
    ImportsService,
    IngestService,
    IngestThreads,
    DeadlinesReader,
    JurisdictionsReader,
    Reclassifier,
    ReclassifyTarget,
    RelationshipsReader,
    RuleBook,
    RuleChangesService,
    RuleTrial,
    SnapshotTaker,
    SnapshotTarget,
  ],
  exports: [CountReconciler, DemoService, IngestService, IngestThreads, RuleBook, SnapshotTaker],
})
export class InventoryModule {}

/** The background work of the inventory. */
@Module({
  imports: [InventoryModule],
  providers: [FoundAssetsConsumer, Rereader, SearchIndexer, SourceCounter],
})
export class InventoryWorkerModule {}
