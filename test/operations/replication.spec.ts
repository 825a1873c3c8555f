import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PrivatePostgres, removePostgres, startPostgres } from '../../scripts/lib/postgres.mjs';
import { Config } from '../../src/platform/config/config.js';
import { databaseClient } from '../../src/platform/database/database-client.js';
import { isDatabaseTrouble } from '../../src/platform/errors/database-error.js';
import {
  readReplication,
  asynchronousFault,
  type Replication,
  synchronousDetail,
} from '../../src/platform/instances/replication.reader.js';
import { until } from '../support/signing.js';
import { query } from '../support/stage.js';

/** Tests with a server whose commits wait for a standby that does not exist. */
let directory: string;
let postgres: PrivatePostgres;
let DatabaseClient: ReturnType<typeof databaseClient>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sealwright-replication-'));
  postgres = await startPostgres({ dir: directory, settings: { synchronous_standby_names: 'elsewhere' } });
  DatabaseClient = databaseClient(new Config({ SVC_DATABASE_URL: postgres.url }));
});
afterAll(async () => {
  await postgres.kill('immediate');
  await removePostgres(directory);
  rmSync(directory, { recursive: true, force: true });
});

const asAdministrator = (text: string) => query(postgres.adminUrl, text);

describe('a database with synchronous commits', () => {
  it('is detected by an unprivileged role, as is the missing standby', async () => {
    const client = new DatabaseClient();
    await client.connect();
    const replication = await readReplication(async (text) => (await client.query<Replication>(text)).rows);
    await client.end();
    expect(asynchronousFault(replication)).toBeUndefined();
    expect(synchronousDetail(replication)).toBe(
      'nothing can be committed: commits wait for elsewhere, but no standby is connected',
    );
  });

  it('holds no connection of a service that skipped it as read-only', async () => {
    const options = encodeURIComponent('-c default_transaction_read_only=on');
    const url = `${postgres.url}?target_session_attrs=read-write&options=${options}`;
    const ReadOnlyClient = databaseClient(new Config({ SVC_DATABASE_URL: url }));
    for (let attempt = 0; attempt < 5; attempt += 1)
      await expect(new ReadOnlyClient({ application_name: 'passes-by' }).connect()).rejects.toThrow(
        'accepts no writes',
      );
    const open = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'passes-by'`;
    await until('they are closed', 10, async () => (await asAdministrator(open)).length === 0);
  });

  it('acknowledges a commit that an operator cancelled, which the service does not accept', async () => {
    const client = new DatabaseClient();
    await client.connect();
    const committed = client.query('CREATE TABLE unconfirmed (id int)').then(
      () => 'acknowledged',
      (error: unknown) => (isDatabaseTrouble(error) ? 'nobody knows' : String(error)),
    );
    const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    await until('the commit waits', 20, async () => (await asAdministrator(`SELECT 1 ${waiting}`)).length === 1);
    await asAdministrator(`SELECT pg_cancel_backend(pid) ${waiting}`);
    expect(await committed).toBe('nobody knows');
  });
});
