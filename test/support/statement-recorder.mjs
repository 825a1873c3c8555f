// When preloaded into a service process (NODE_OPTIONS), this module records each distinct statement sent to the database. The check `plans` explains
// these statements on large tables.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

const folder = process.env.SW_TEST_EVIDENCE;
// The key process and other programs do not use the database.
if (folder !== undefined && /\/dist\/(?:main|worker|cli)\.js$/.test(process.argv[1] ?? '')) {
  const { default: pg } = await import('pg');
  const file = join(folder, `statements-${process.pid}-${threadId}.ndjson`);
  const noted = new Set();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function recorded(config, ...rest) {
    const text = typeof config === 'string' ? config : config?.text;
    if (typeof text === 'string' && !noted.has(text)) {
      noted.add(text);
      if (/^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE TEMP)/i.test(text))
        appendFileSync(file, `${JSON.stringify(text)}\n`);
    }
    return query.call(this, config, ...rest);
  };
}
