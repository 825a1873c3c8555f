import type { DataSource, QueryRunner } from 'typeorm';

/** Runs the catalogue check with the service's code. */
export interface CatalogueReader {
  findings(): Promise<string[]>;
  /** Makes a change, returns the findings, and reverts the change. */
  findingsAfter(ddl: string): Promise<string[]>;
  /** Makes a change, reports whether a vote is refused, and reverts the change. */
  isRefusedAfter(ddl: string): Promise<boolean>;
  close(): Promise<void>;
}

interface Check {
  assertUnchanged(tx: object): Promise<void>;
  findings(tx?: object): Promise<string[]>;
}

const built = async <Module>(path: string): Promise<Module> =>
  (await import(new URL(`../../dist/${path}.js`, import.meta.url).href)) as Module;

/** @param settings settings of the service */
export async function openCatalogue(settings: Readonly<Record<string, string>>): Promise<CatalogueReader> {
  const { DataSource, getMetadataArgsStorage } = await import('typeorm');
  const { Config } = await built<{ Config: new (environment: object) => object }>('platform/config/config');
  const { dataSourceOptions } = await built<{ dataSourceOptions: (config: object) => object }>(
    'platform/database/data-source-options',
  );
  const { CatalogueCheck } = await built<{ CatalogueCheck: new (...parts: unknown[]) => Check }>(
    'platform/sealing/catalogue-check',
  );
  await built('app.module');
  const entities = getMetadataArgsStorage().tables.map(({ target }) => target);
  const options = { ...dataSourceOptions(new Config(settings)), entities };
  const db: DataSource = await new DataSource(options as ConstructorParameters<typeof DataSource>[0]).initialize();
  const check = new CatalogueCheck(db, { emit: () => undefined }, { add: () => undefined });
  await check.assertUnchanged(db.manager);
  const after = async <T>(ddl: string, look: (tx: object) => Promise<T>): Promise<T> => {
    const runner: QueryRunner = db.createQueryRunner();
    await runner.startTransaction();
    try {
      await runner.query(ddl);
      return await look(runner.manager);
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  };
  return {
    findings: () => check.findings(),
    findingsAfter: (ddl) => after(ddl, (tx) => check.findings(tx)),
    isRefusedAfter: (ddl) =>
      after(ddl, (tx) =>
        check.assertUnchanged(tx).then(
          () => false,
          () => true,
        ),
      ),
    close: () => db.destroy(),
  };
}
