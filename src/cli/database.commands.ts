import { parseArgs } from 'node:util';
import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/migrate.js';
import { TooOldSchemaError } from '../platform/database/migrations/superseded-migrations.js';
import { type AdminCommand, AdminError, note, print, ADMIN_EXIT } from './command.js';
import { NestFactory } from '@nestjs/core';
import { ApiModule } from '../app/app.module.js';
import { CountReconciler, type Reconciled } from '../inventory/analytics/count-reconciler.service.js';
import { FindingReconciler } from '../ssh-keys/keys/finding-reconciler.service.js';
import { CommandLogger } from '../platform/log/structured-logger.js';

/** Brings the database to the schema of this version. */
export const migrate: AdminCommand = {
  name: 'migrate',
  usage: ['[--json]'],
  summary: 'Brings the database to the schema of this version',
  details: [
    'Run it once, from the new version, before its processes are started; the version before goes on working',
    'meanwhile and afterwards (docs/upgrade.md). It waits for another migration that is under way, and waits at',
    'most two seconds for a table, again and again for a minute, so that nobody queues behind it. Interrupted, it',
    'goes on where it was when it is run again. Needs the database alone.',
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

/** Compares what is derived from other rows, and not recomputed at each look, with those rows: counts of the inventory, findings of SSH keys. */
export const reconcileCounts: AdminCommand = {
  name: 'reconcile-counts',
  usage: [''],
  summary: 'Compares counts of the inventory and findings of SSH keys with what they are made of, and repairs them',
  details: ['Workers do the same once a day and after a migration. Report what it repairs: it should find nothing.'],
  codes: ['Ends with 1 when something was wrong and was repaired, with 3 when a worker does it now.'],
  run: reconcile,
};

async function reconcile(args: string[]): Promise<void> {
  parseArgs({ args });
  const app = await NestFactory.createApplicationContext(ApiModule, { logger: new CommandLogger(new Config()) });
  try {
    const counts = await app.get(CountReconciler).now();
    const findings = await app.get(FindingReconciler).now();
    if (counts === undefined || findings === undefined) {
      print('A worker compares them now; its log says what it finds.');
      process.exitCode = ADMIN_EXIT.elsewhere;
      return;
    }
    const isRight = sayCounts(counts) && findings.wrong === 0;
    if (findings.aged > 0) print(`${findings.aged} SSH keys are too old now, or no longer`);
    if (findings.wrong > 0) print(`findings of ${findings.wrong} SSH keys were wrong; repaired`);
    process.exitCode = isRight ? ADMIN_EXIT.done : ADMIN_EXIT.failed;
  } finally {
    await app.close();
  }
}

/** Answers whether all counts were right. */
function sayCounts({ states, tally, sources }: Reconciled): boolean {
  if (states > 0) print(`${states} assets were in a state that their occurrences do not give; repaired`);
  for (const { dimension, values, off } of tally)
    print(`${dimension}: ${values} counts were wrong, by ${off} in all; repaired`);
  if (sources > 0) print(`${sources} sources were wrong; they are counted again`);
  const isRight = states + tally.length + sources === 0;
  if (isRight) print('All counts are right.');
  return isRight;
}
