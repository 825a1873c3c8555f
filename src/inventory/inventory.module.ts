import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SigningModule } from '../signing/signing.module.js';
import { AnalyticsController } from './catalogue/analytics/analytics.controller.js';
import { AnalyticsReader } from './catalogue/analytics/analytics.reader.js';
import { CountReconciler } from './catalogue/analytics/count-reconciler.service.js';
import {
  InventorySnapshot,
  InventoryRecount,
  InventorySourceCount,
  InventoryTally,
} from './catalogue/analytics/inventory-counts.entity.js';
import { SnapshotTarget } from './catalogue/analytics/snapshot.target.js';
import { SnapshotTaker } from './catalogue/analytics/snapshot-taker.js';
import { SourceCounter } from './catalogue/analytics/source-counter.js';
import { AssetAnnotationsService } from './catalogue/assets/asset-annotations.service.js';
import { Attestation, PolicyPackRow, PolicyScope } from './compliance/policy-packs/attestation.entity.js';
import { AttestationsController } from './compliance/policy-packs/attestations.controller.js';
import { AttestationsService } from './compliance/policy-packs/attestations.service.js';
import { PolicyPacksController } from './compliance/policy-packs/policy-packs.controller.js';
import { PolicyJudge } from './compliance/policy-packs/policy-judge.service.js';
import { PolicyPacksService } from './compliance/policy-packs/policy-packs.service.js';
import { PolicyCheckTarget } from './compliance/policy-packs/policy-check.target.js';
import { SignedDeclarations } from './compliance/policy-packs/declarations.js';
import { PolicyEvaluator } from './compliance/policy-packs/policy-evaluator.js';
import { AssetCsv } from './catalogue/exports/asset-csv.js';
import { AssetOccurrence } from './catalogue/assets/asset-occurrence.entity.js';
import { AssetSourceName } from './catalogue/assets/asset-source-name.entity.js';
import { Asset } from './catalogue/assets/asset.entity.js';
import { AssetsController } from './catalogue/assets/assets.controller.js';
import { AssetPages } from './catalogue/assets/asset-pages.reader.js';
import { AssetsReader } from './catalogue/assets/assets.reader.js';
import { SearchIndexer } from './catalogue/assets/search-indexer.service.js';
import { BomLinkController } from './catalogue/bom-link/bom-link.controller.js';
import { BomLinkExport, BomLinkRefs, BomLinksReader } from './catalogue/bom-link/bom-links.reader.js';
import { BomExporter } from './catalogue/exports/bom-export.js';
import { OwnComponents } from './catalogue/exports/own-components.js';
import { ExportController } from './catalogue/exports/export.controller.js';
import { ExportSnapshots } from './catalogue/exports/export-snapshots.js';
import { DemoController } from './catalogue/demo/demo.controller.js';
import { DemoService } from './catalogue/demo/demo.service.js';
import { ImportBodies } from './intake/imports/import-bodies.js';
import { ImportRunner } from './intake/imports/import-runner.js';
import { ImportsController } from './intake/imports/imports.controller.js';
import { ImportsService } from './intake/imports/imports.service.js';
import { InventoryImport, InventoryImportPart } from './intake/imports/inventory-import.entity.js';
import { FoundAssetsConsumer } from './intake/imports/found-assets.consumer.js';
import { IngestThreads } from './intake/imports/ingest-threads.js';
import { IngestController } from './intake/imports/ingest.controller.js';
import { IngestService } from './intake/imports/ingest.service.js';
import { InventoryDocument } from './model/inventory-document.entity.js';
import { InventorySource } from './model/inventory-source.entity.js';
import { AssetRelationship } from './model/asset-relationship.entity.js';
import { RelationshipsController } from './catalogue/relationships/relationships.controller.js';
import { RelationshipsReader } from './catalogue/relationships/relationships.reader.js';
import { JurisdictionsController } from './compliance/jurisdictions/jurisdictions.controller.js';
import { DeadlinesReader } from './compliance/jurisdictions/deadlines.reader.js';
import { JurisdictionsReader } from './compliance/jurisdictions/jurisdictions.reader.js';
import { OwnNamesController, QuantumRiskController } from './judgement/risk-rules/quantum-risk.controller.js';
import { OwnNamesService } from './judgement/risk-rules/own-names.service.js';
import { Rereader } from './judgement/rereading/rereader.js';
import { Reclassifier } from './judgement/risk-rules/reclassifier.js';
import { ReclassifyTarget } from './judgement/risk-rules/reclassify.target.js';
import { RiskRuleSet } from './judgement/risk/risk-rule-set.entity.js';
import { RuleBook } from './judgement/risk/rule-book.js';
import { RuleChangesService } from './judgement/risk-rules/rule-changes.service.js';
import { RuleTrial } from './judgement/risk-rules/rule-trial.js';
import { RiskVerdictRow } from './judgement/risk/risk-verdict.entity.js';
import { SavedView, SavedViewsService } from './catalogue/views/saved-views.service.js';
import { SavedViewsController } from './catalogue/views/saved-views.controller.js';

/** InventoryModule provides the inventory of cryptographic assets: ingest, identity, risk, search and export. */
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
    ExportSnapshots,
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

/** InventoryWorkerModule contains the inventory's background jobs. */
@Module({
  imports: [InventoryModule],
  providers: [FoundAssetsConsumer, Rereader, SearchIndexer, SourceCounter],
})
export class InventoryWorkerModule {}
