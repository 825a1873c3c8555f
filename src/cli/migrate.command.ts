import { parseArgs } from 'node:util';
import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/migrate.js';
import { type AdminCommand, note, print } from './command.js';

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
    const applied = await migrateDatabase(new Config(), note);
    if (values.json) print(JSON.stringify({ applied }));
    else if (applied.length === 0) print('The schema is up to date.');
    else print(...applied.map((name) => `applied ${name}`));
  },
};
