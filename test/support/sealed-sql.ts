import type { DataSource } from 'typeorm';

/** A column of a sealed table. */
export interface SealedTableColumn {
  readonly name: string;
  readonly type: string;
  readonly isList: boolean;
  readonly isNullable: boolean;
  readonly isKey: boolean;
  readonly isSealed: boolean;
}

/** Seals the rows of a database with the service's code. */
export interface RowSealer {
  /** Seals every row as it is, as if the service had changed it. */
  seal(): Promise<void>;
  /** Runs a statement and seals the changed rows in one transaction, so that no reader sees a row that does not match its seal. */
  change<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Returns the rows that do not match their seal, by table. */
  forged(): Promise<{ table: string; count: number; keys: string[] }[]>;
  /** Sealed tables with their columns. */
  readonly tables: ReadonlyMap<string, readonly SealedTableColumn[]>;
  close(): Promise<void>;
}

interface Keeper {
  sealAll(): Promise<unknown>;
  forged(): ReturnType<RowSealer['forged']>;
}

interface SealedEntities {
  sealedClasses(): (new () => object)[];
  sealedOptions(entity: new () => object): { readonly except: readonly string[] };
}

const built = async <Module>(path: string): Promise<Module> =>
  (await import(new URL(`../../dist/${path}.js`, import.meta.url).href)) as Module;

/** @param settings settings of the service whose secret is used for the seals */
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
  const { sealedClasses, sealedOptions } = await built<SealedEntities>('platform/sealing/sealed-entity');
  await built('app.module');
  const config = new Config(settings);
  const entities = getMetadataArgsStorage().tables.map(({ target }) => target);
  const options = { ...dataSourceOptions(config), entities } as ConstructorParameters<typeof DataSource>[0];
  const db: DataSource = await new DataSource(options).initialize();
  const seals = new RowSeals(config, db, { emit: () => undefined });
  const keeper = new RowSealKeeper(db, seals, {});
  const tables = sealedClasses().map((entity) => {
    const except = new Set([...sealedOptions(entity).except, 'seal']);
    const { tableName, columns } = db.getMetadata(entity);
    const shown = columns.map((column) => ({
      name: column.databaseName,
      type: typeof column.type === 'string' ? column.type : '',
      isList: column.isArray,
      isNullable: column.isNullable,
      isKey: column.isPrimary,
      isSealed: !except.has(column.propertyName),
    }));
    return [tableName, shown] as const;
  });
  return {
    seal: async () => void (await keeper.sealAll()),
    change: <Row>(text: string, values?: unknown[]) =>
      db.transaction(async ({ queryRunner }) => {
        const answer = (await queryRunner?.query(text, values, true)) as { records: Row[] };
        await new RowSealKeeper(queryRunner, seals, {}).sealAll();
        return answer.records;
      }),
    forged: () => keeper.forged(),
    tables: new Map(tables),
    close: () => db.destroy(),
  };
}
