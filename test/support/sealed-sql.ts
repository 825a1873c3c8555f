import type { DataSource } from 'typeorm';

/** What the build exports, as far as it is needed here. */
interface Keeper {
  sealAll(): Promise<unknown>;
}

/** Seals rows that a test changed by SQL, as the service would have sealed its own change. */
export interface RowSealer {
  seal(): Promise<void>;
  close(): Promise<void>;
}

const built = async <Module>(path: string): Promise<Module> =>
  (await import(new URL(`../../dist/${path}.js`, import.meta.url).href)) as Module;

/** @param settings of the service whose secret makes the seals */
export async function openRowSealer(settings: Readonly<Record<string, string>>): Promise<RowSealer> {
  const { DataSource, getMetadataArgsStorage } = await import('typeorm');
  const { Config } = await built<{ Config: new (environment: object) => object }>('platform/config/config');
  const { dataSourceOptions } = await built<{ dataSourceOptions: (config: object) => object }>(
    'platform/database/data-source-options',
  );
  const { RowSeals } = await built<{ RowSeals: new (...parts: unknown[]) => object }>('platform/sealing/row-seals');
  const { RowSealKeeper } = await built<{ RowSealKeeper: new (...parts: unknown[]) => Keeper }>(
    'platform/sealing/row-seal-keeper',
  );
  await built('app/app.module');
  const config = new Config(settings);
  const entities = getMetadataArgsStorage().tables.map(({ target }) => target);
  const options = { ...dataSourceOptions(config), entities } as ConstructorParameters<typeof DataSource>[0];
  const db: DataSource = await new DataSource(options).initialize();
  const keeper = new RowSealKeeper(db, new RowSeals(config, db, { emit: () => undefined }), {});
  return {
    seal: async () => void (await keeper.sealAll()),
    close: () => db.destroy(),
  };
}
