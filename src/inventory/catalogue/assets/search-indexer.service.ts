import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { growSearchIndexes } from '../../../platform/database/migrate.js';
import { missingSearchIndexes } from '../../../platform/database/search-indexes.js';
import { Background } from '../../../platform/work/background.js';

const HOUR_MS = 3_600_000;

/**
 * SearchIndexer creates the search indexes once the inventory is large enough to need these indexes (docs/decisions/0160). The service keeps running, and the
 * indexes are created on a separate connection. An interrupted run leaves an invalid index, which the next run replaces.
 */
@Injectable()
export class SearchIndexer {
  private readonly logger = new Logger(SearchIndexer.name);

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
  ) {}

  /** Creates the missing indexes. For a large inventory, each index takes minutes. */
  @Background({ name: 'search-indexes', scope: 'cluster', every: HOUR_MS, first: 0, drain: false })
  async makeMissing(): Promise<void> {
    if ((await missingSearchIndexes(this.db)).length === 0) return;
    await growSearchIndexes(this.config, (line) => this.logger.log(line));
  }
}
