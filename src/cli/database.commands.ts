import { parseArgs } from 'node:util';
import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/migrate.js';
import { TooOldSchemaError } from '../platform/database/migrations/superseded-migrations.js';
import { type AdminCommand, AdminError, note, print, ADMIN_EXIT } from './command.js';
import { inService } from './in-service.js';
import { ApiModule } from '../app/app.module.js';
import { CountReconciler, type Reconciled } from '../inventory/analytics/count-reconciler.service.js';
import { FindingReconciler } from '../ssh-keys/keys/finding-reconciler.service.js';

/** migrate migrates the database to the schema of this version. */
export const migrate: AdminCommand = {
  name: 'migrate',
  usage: ['[--json]'],
  summary: 'Brings the database to the schema of this version',
  details: [
    'Run it once, from the new version, before its processes are started; the previous version continues to work',
    'during and after it (docs/upgrade.md). It waits for another migration in progress, and waits at most two seconds',
    'for a table, repeatedly for a minute, so that no other statement queues behind it. If it is interrupted, run it',
    'again to continue. Needs only the database.',
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
  summary: 'Recomputes counts of the inventory and findings of SSH keys, and repairs differences',
  details: ['Workers do the same once a day and after a migration. Report any repair: none should be necessary.'],
  codes: ['Returns 1 if a difference was repaired, and 3 if a worker is doing it now.'],
  run: reconcile,
};

async function reconcile(args: string[]): Promise<void> {
  parseArgs({ args });
  await inService(async (app) => {
    const counts = await app.get(CountReconciler).now();
    const findings = await app.get(FindingReconciler).now();
    if (counts === undefined || findings === undefined) {
      print('A worker compares them now; see its log.');
      process.exitCode = ADMIN_EXIT.elsewhere;
      return;
    }
    const isRight = sayCounts(counts) && findings.wrong === 0;
    if (findings.aged > 0) print(`${findings.aged} SSH keys are too old now, or no longer`);
    if (findings.wrong > 0) print(`findings of ${findings.wrong} SSH keys were wrong; repaired`);
    process.exitCode = isRight ? ADMIN_EXIT.done : ADMIN_EXIT.failed;
  }, ApiModule);
}

/** Prints the result and returns whether all counts were correct. */
function sayCounts({ states, tally, sources }: Reconciled): boolean {
  if (states > 0) print(`repaired the state of ${states} assets, which differed from their occurrences`);
  for (const { dimension, values, off } of tally)
    print(`${dimension}: ${values} counts were wrong, by ${off} in all; repaired`);
  if (sources > 0) print(`the counts of ${sources} sources were wrong and are counted again`);
  const isRight = states + tally.length + sources === 0;
  if (isRight) print('All counts are right.');
  return isRight;
}
