import type { MigrationInterface } from 'typeorm';
import { Baseline1798000048250 } from './1798000048250-baseline.js';
import { PeopleBehindMembers1798000048300 } from './1798000048300-people-behind-members.js';
import { EditorsOfTrusts1798000048400 } from './1798000048400-editors-of-trusts.js';
import { PeopleBehindOrders1798000048450 } from './1798000048450-people-behind-orders.js';
import { ProvenAssets1798000048520 } from './1798000048520-proven-assets.js';
import { IssuersAfterDisabling1798000048540 } from './1798000048540-issuers-after-disabling.js';
import { ReportersOfVerdicts1798000048550 } from './1798000048550-reporters-of-verdicts.js';
import { KeysOfCredentials1798000048600 } from './1798000048600-keys-of-credentials.js';
import { OwnersOfWebhooks1798000048700 } from './1798000048700-owners-of-webhooks.js';
import { SubjectsOfDeliveries1798000048710 } from './1798000048710-subjects-of-deliveries.js';
import { ListFilters1798000048800 } from './1798000048800-list-filters.js';
import { ChangesOfWebhookOwners1798000048910 } from './1798000048910-changes-of-webhook-owners.js';

/** MIGRATIONS lists all migrations, oldest first. Each migration runs in a separate transaction. */
export const MIGRATIONS: (new () => MigrationInterface)[] = [
  Baseline1798000048250,
  PeopleBehindMembers1798000048300,
  EditorsOfTrusts1798000048400,
  PeopleBehindOrders1798000048450,
  ProvenAssets1798000048520,
  IssuersAfterDisabling1798000048540,
  ReportersOfVerdicts1798000048550,
  KeysOfCredentials1798000048600,
  OwnersOfWebhooks1798000048700,
  SubjectsOfDeliveries1798000048710,
  ListFilters1798000048800,
  ChangesOfWebhookOwners1798000048910,
];
