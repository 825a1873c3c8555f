import { DataSource, getMetadataArgsStorage } from 'typeorm';

/** For the TypeORM command line (`npm run migration:generate`, `npm run migration:check`); reads what `npm run build` made. */
const { Config } = await import(new URL('./dist/platform/config/config.js', import.meta.url).href);
const { dataSourceOptions } = await import(
  new URL('./dist/platform/database/data-source-options.js', import.meta.url).href
);
// Every entity belongs to a module of the service, whatever the file that it stands in.
await import(new URL('./dist/app.module.js', import.meta.url).href);

export default new DataSource({
  ...dataSourceOptions(new Config()),
  entities: getMetadataArgsStorage().tables.map(({ target }) => target),
});
