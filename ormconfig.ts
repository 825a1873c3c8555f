import { join } from 'node:path';
import { DataSource } from 'typeorm';

/** For the TypeORM command line (`npm run migration:generate`, `npm run migration:check`); reads what `npm run build` made. */
const { Config } = await import(new URL('./dist/platform/config/config.js', import.meta.url).href);
const { dataSourceOptions } = await import(
  new URL('./dist/platform/database/data-source-options.js', import.meta.url).href
);

export default new DataSource({
  ...dataSourceOptions(new Config()),
  entities: [join(import.meta.dirname, 'dist/**/*.entity.js')],
});
