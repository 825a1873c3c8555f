// Reverts the given number of migrations of the build one by one: `node revert-migrations.mjs COUNT`.
import { DataSource } from 'typeorm';

const built = (file) => import(new URL(`../../dist/platform/${file}`, import.meta.url).href);
const [{ Config }, { dataSourceOptions }, { databaseClient }] = await Promise.all(
  ['config/config.js', 'database/data-source-options.js', 'database/database-client.js'].map(built),
);
const config = new Config();
const db = await new DataSource({
  ...dataSourceOptions(config),
  extra: { Client: databaseClient(config) },
}).initialize();
for (let left = Number(process.argv[2]); left > 0; left -= 1) await db.undoLastMigration({ transaction: 'each' });
await db.destroy();
