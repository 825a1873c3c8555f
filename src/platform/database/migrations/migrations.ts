import type { MigrationInterface } from 'typeorm';
import { Baseline1798000048250 } from './1798000048250-baseline.js';
import { PeopleBehindMembers1798000048300 } from './1798000048300-people-behind-members.js';
import { EditorsOfTrusts1798000048400 } from './1798000048400-editors-of-trusts.js';
import { PeopleBehindOrders1798000048450 } from './1798000048450-people-behind-orders.js';
import { ProvenAssets1798000048520 } from './1798000048520-proven-assets.js';
import { ListFilters1798000048800 } from './1798000048800-list-filters.js';

/** MIGRATIONS lists all migrations, oldest first. Each runs in its own transaction. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [
  Baseline1798000048250,
  PeopleBehindMembers1798000048300,
  EditorsOfTrusts1798000048400,
  PeopleBehindOrders1798000048450,
  ProvenAssets1798000048520,
  ListFilters1798000048800,
];
