import { parseArgs } from 'node:util';
import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/migrate.js';
import { TooOldSchemaError } from '../platform/database/migrations/superseded-migrations.js';
import { type AdminCommand, AdminError, note, print, ADMIN_EXIT } from './command.js';
import { inService } from './in-service.js';
import { ApiModule } from '../app.module.js';
import { CountReconciler, type Reconciled } from '../inventory/catalogue/analytics/count-reconciler.service.js';
import { FindingReconciler } from '../ssh-keys/keys/finding-reconciler.service.js';

/** migrate migrates the database to the schema of this version. */
export const migrate: AdminCommand = {
  name: 'migrate',
  usage: ['[--json]'],
  summary: 'Migrates the database to the schema of this version',
  details: [
    'Run it once from the new version, before starting its processes. The previous version keeps working during and after',
    'the migration (docs/upgrade.md). It waits for a migration in progress, and tries for up to a minute to lock each table,',
    'at most two seconds at a time, so that other statements do not queue behind it. If it is interrupted, run it again to',
    'continue. Requires only the database.',
    '',
    '  --json   {"applied": [names of migrations]}',
  ],
  async run(args) {
    const { values } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } });
    const applied = await migrateDatabase(new Config(), note).catch((error: unknown) => {
      throw error instanceof TooOldSchemaError ? new AdminError(error.message) : error;
    });
    if (values.json) print(JSON.stringify({ applied }));
    else if (applied.length === 0) print('The schema is up to date.');
    else print(...applied.map((name) => `applied ${name}`));
  },
};

/** reconcileCounts recomputes stored values derived from other rows (inventory counts, SSH key findings) and repairs differences. */
export const reconcileCounts: AdminCommand = {
  name: 'reconcile-counts',
  usage: [''],
  summary: 'Recomputes inventory counts and SSH key findings, and repairs differences',
  details: [
    'Workers do this daily and after each migration. Repairs should never be necessary: please report any repair.',
  ],
  codes: ['Exits with 1 if a difference was repaired, and with 3 if a worker is already comparing.'],
  run: reconcile,
};

async function reconcile(args: string[]): Promise<void> {
  parseArgs({ args });
  await inService(async (app) => {
    const counts = await app.get(CountReconciler).now();
    const findings = await app.get(FindingReconciler).now();
    if (counts === undefined || findings === undefined) {
      print("A worker is already comparing the counts. See the worker's log.");
      process.exitCode = ADMIN_EXIT.elsewhere;
      return;
    }
    const isRight = sayCounts(counts) && findings.wrong === 0;
    if (findings.aged > 0) print(`SSH keys whose age finding changed: ${findings.aged}`);
    if (findings.wrong > 0) print(`repaired wrong findings of ${findings.wrong} SSH keys`);
    process.exitCode = isRight ? ADMIN_EXIT.done : ADMIN_EXIT.failed;
  }, ApiModule);
}

/** Prints the result and returns whether all counts were correct. */
function sayCounts({ states, tally, sources }: Reconciled): boolean {
  if (states > 0) print(`repaired the state of ${states} assets that differed from their occurrences`);
  for (const { dimension, values, off } of tally)
    print(`repaired ${values} wrong counts of ${dimension}, off by ${off} in total`);
  if (sources > 0) print(`recounted ${sources} sources with wrong counts`);
  const isRight = states + tally.length + sources === 0;
  if (isRight) print('All counts are correct.');
  return isRight;
}
