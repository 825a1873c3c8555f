import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { causeOf } from '../../platform/database/database-error.js';
import { growSearchIndexes } from '../../platform/database/migrate.js';
import { missingSearchIndexes } from '../../platform/database/search-indexes.js';
import { JobLeases } from '../../platform/jobs/job-lease.repository.js';
import { SingleFlight } from '../../platform/jobs/runners.js';

const JOB = 'search-indexes';
const EVERY_SECONDS = 3600;
const LOOK_EVERY_MS = 60_000;

/**
 * Makes the search indexes as soon as the inventory is large enough to need them (docs/decisions/0160), on a connection of its own, beside
 * the load. A process that stops meanwhile leaves an index that is not valid, which the next one replaces.
 */
@Injectable()
export class SearchIndexer implements OnApplicationBootstrap {
  private readonly logger = new Logger(SearchIndexer.name);
  private readonly looks = new SingleFlight((error) =>
    this.logger.warn(`search indexes were not made: ${causeOf(error)}`),
  );

  constructor(
    private readonly db: DataSource,
    private readonly jobs: JobLeases,
    private readonly config: Config,
  ) {}

  /** Not waited for: an index of a large inventory takes minutes. */
  onApplicationBootstrap(): void {
    void this.look();
  }

  @Interval(LOOK_EVERY_MS)
  look(): Promise<void> {
    return this.looks.run(() => this.jobs.onceEvery(EVERY_SECONDS, JOB, () => this.makeMissing()));
  }

  private async makeMissing(): Promise<void> {
    if ((await missingSearchIndexes(this.db)).length === 0) return;
    await growSearchIndexes(this.config, (line) => this.logger.log(line));
  }
}
