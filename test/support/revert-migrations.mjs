// Takes back so many migrations of the build, one after the other: `node revert-migrations.mjs COUNT`.
import { DataSource } from 'typeorm';

const built = (file) => import(new URL(`../../dist/platform/${file}`, import.meta.url).href);
const [{ Config }, { dataSourceOptions }] = await Promise.all(
  ['config/config.js', 'database/data-source-options.js'].map(built),
);
const db = await new DataSource({ ...dataSourceOptions(new Config()), extra: {} }).initialize();
for (let left = Number(process.argv[2]); left > 0; left -= 1) await db.undoLastMigration({ transaction: 'each' });
await db.destroy();
