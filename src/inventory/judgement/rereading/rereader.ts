import { Injectable, Logger } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { InstanceHeartbeat } from '../../../platform/instances/heartbeat.js';
import { MISSED_AFTER_MS } from '../../../platform/instances/instance-indicators.js';
import { isSuperseded } from '../../../platform/database/migrations/superseded-migrations.js';
import { MIGRATION_NAMES, NEWEST_MIGRATION } from '../../../platform/observability/product-version.js';
import { JobLeases } from '../../../platform/work/job-lease.repository.js';
import { Background } from '../../../platform/work/background.js';
import { recordAssetEvents } from '../../intake/staging/asset-alert-events.js';
import { storedContent } from '../../intake/staging/asset-rows.js';
import { Judge, type VerdictRow } from '../../intake/staging/judge.js';
import { mergeReadings, type ReadAgain, writeVerdicts } from '../../intake/staging/merge.js';
import { count } from '../../intake/staging/merge-counts.js';
import { NewAssets } from '../../intake/staging/new-assets.js';
import { createStagingTables } from '../../intake/staging/staging.js';
import { editionOf } from '../risk-rules/reclassifier.js';
import { lockVerdictsShared, RuleBook } from '../risk/rule-book.js';
import { OUTDATED_SOURCE, nextOutdated, noteProgress, type SourceInWork } from './reading-progress.repository.js';
import { storedAssets, type StoredAsset } from './stored-assets.reader.js';

const PAGE = 500;
const JOB = 'read-again';
const WHY = 'A new version extracts more information from documents.';

/** Assets on a page that are now classified differently, with the version and edition of the rules. */
interface Differing {
  readonly assets: readonly ReadAgain[];
  readonly verdicts: readonly VerdictRow[];
  readonly version: number;
  readonly edition: string;
}

/**
 * Rereader rereads assets that were stored with an older reading edition. Improvements therefore also apply to assets whose documents are not sent again, or
 * are sent again unchanged (docs/decisions/0140). Sources are processed page by page. An interrupted run is resumed where it stopped. An asset is updated only
 * if its verdict changes, and reported only if its level changes.
 */
@Injectable()
export class Rereader {
  private readonly logger = new Logger(Rereader.name);

  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
    private readonly leases: JobLeases,
    private readonly heartbeat: InstanceHeartbeat,
  ) {}

  @Background({ name: JOB, scope: 'process', due: OUTDATED_SOURCE, quotesErrors: false })
  async readOutdated(isStopping: () => boolean): Promise<void> {
    // Nothing is reread while a process of an older version is running, because that process would overwrite the new results.
    const seen = this.heartbeat.seen();
    if (seen.length > 0 && !seen.some(isOlder)) await this.leases.alone(JOB, () => this.readAll(isStopping));
  }

  private async readAll(isStopping: () => boolean): Promise<void> {
    for (let sources = 0, changed = 0; !isStopping(); sources += 1) {
      const source = await nextOutdated(this.db.manager);
      if (source === undefined) {
        if (sources > 0) this.logger.log(`reread ${sources} sources; the verdicts of ${changed} assets changed`);
        return;
      }
      changed += await this.readSource(source, isStopping);
    }
  }

  private async readSource(source: SourceInWork, isStopping: () => boolean): Promise<number> {
    let changed = 0;
    for (let at = source; !isStopping(); await turn()) {
      const { last, page, all } = await storedAssets(this.db.manager, {
        sourceId: at.id,
        after: at.after,
        limit: PAGE,
      });
      const differing = await this.differing(page, all);
      changed += differing.assets.length;
      const isMine = await this.db.transaction(async (tx) => {
        if (!(await noteProgress(tx, at, last))) return false;
        if (differing.assets.length > 0) await this.store(tx, source, differing);
        return true;
      });
      if (!isMine || last === undefined) break;
      at = { ...at, after: last };
    }
    return changed;
  }

  private async differing(page: readonly StoredAsset[], all: readonly StoredAsset[]): Promise<Differing> {
    const { version, engine } = await this.book.engineNow();
    const judge = new Judge(all, engine);
    const verdicts = new Map<string, VerdictRow>();
    const assets: ReadAgain[] = [];
    for (const asset of page) {
      const judgement = judge.judge(asset);
      const { verdict, resolvedBy } = judgement;
      const { id, verdictId: before, component } = asset;
      if ((verdict?.id ?? null) === before) continue;
      if (verdict !== undefined) verdicts.set(verdict.id, verdict);
      const content = storedContent(asset, component, judgement);
      assets.push({ id, before, verdictId: verdict?.id ?? null, resolvedBy, content });
    }
    return { assets, verdicts: [...verdicts.values()], version, edition: editionOf(engine.ruleSet.edition, version) };
  }

  private async store(
    tx: EntityManager,
    source: SourceInWork,
    { assets, verdicts, version, edition }: Differing,
  ): Promise<void> {
    await createStagingTables(tx);
    await lockVerdictsShared(tx);
    await writeVerdicts(tx, verdicts, edition);
    const created = new NewAssets();
    const changed = await mergeReadings(tx, assets);
    await count(tx, source.id, { created, known: [], isKnown: true, changed });
    await recordAssetEvents(tx, source, { created, changed, successions: [] }, WHY);
    if (!(await this.book.stillHolds(tx, version))) throw new Error('the rules were changed concurrently');
  }
}

/** Reports whether the process is running and has fewer migrations than this process. */
function isOlder({ schema, agoMs }: ReturnType<InstanceHeartbeat['seen']>[number]): boolean {
  const isEarlier = MIGRATION_NAMES.includes(schema) ? schema !== NEWEST_MIGRATION : isSuperseded(schema);
  return agoMs < MISSED_AFTER_MS && isEarlier;
}
