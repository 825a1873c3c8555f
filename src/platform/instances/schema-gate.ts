import type { Client } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { databaseClient, onAnyHost } from '../database/database-client.js';
import { operatorsWords, sqlState, UNDEFINED_TABLE } from '../errors/database-error.js';
import { readReplication, asynchronousFault, type Replication } from './replication.reader.js';
import { type Epoch, schemaFault, type SchemaState } from '../observability/product-version.js';
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * SchemaEpoch is a single row with the versions of the service that can use the schema. A migration that removes a table or column that an earlier version
 * uses increases the minimum (docs/upgrade.md). Versions are compared by SCHEMA_EPOCH, which increases with each of these migrations.
 */
@Entity('schema_epoch')
@Check('schema_epoch_one_row', 'id = 1')
export class SchemaEpoch {
  /** Always 1. */
  @PrimaryColumn('int')
  id: number;

  /** Minimum SCHEMA_EPOCH of a version that may read. */
  @Column('int')
  minReader: number;

  /** Minimum SCHEMA_EPOCH of a version that may write. */
  @Column('int')
  minWriter: number;
}

const LOOK_EVERY_MS = 1000;

/**
 * untilSchemaFits waits until the database responds, its schema matches this version, and its replication satisfies SVC_DATABASE_REPLICATION. All other
 * parts of the service start afterwards, because each part would fail differently with another schema.
 *
 * @param says called with each new reason for waiting
 */
export async function untilSchemaFits(config: Config, says: (reason: string) => void): Promise<void> {
  for (let last: string | undefined; ; await sleep(LOOK_EVERY_MS)) {
    const reason = await onAnyHost(config, () => look(config, (client) => faultOf(config, client))).catch(
      (error: unknown) => `Unable to connect to the database: ${operatorsWords(error)}`,
    );
    if (reason === undefined) return;
    if (reason !== last) says(reason);
    last = reason;
  }
}

/** schemaFaultOf returns why this version cannot use the schema; undefined if the schema is compatible. Rejects if the database does not respond. */
export function schemaFaultOf(config: Config): Promise<string | undefined> {
  return onAnyHost(config, () => look(config, schemaFaultOn));
}

async function faultOf({ databaseReplication }: Config, client: Client): Promise<string | undefined> {
  const fault = await schemaFaultOn(client);
  if (fault !== undefined || databaseReplication !== 'required') return fault;
  const replication = await readReplication(async (text) => (await client.query<Replication>(text)).rows);
  const lacking = asynchronousFault(replication);
  return lacking && `SVC_DATABASE_REPLICATION=required: ${lacking}`;
}

async function schemaFaultOn(client: Client): Promise<string | undefined> {
  return schemaFault(await readSchema(client));
}

type Look = (client: Client) => Promise<string | undefined>;

async function look(config: Config, looksAt: Look): Promise<string | undefined> {
  const client = new (databaseClient(config))({
    application_name: `sealwright-${config.role}`,
    connectionTimeoutMillis: 2000,
    query_timeout: 5000,
  });
  try {
    await client.connect();
    return await looksAt(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function readSchema(client: Client): Promise<SchemaState> {
  const applied = await rowsOf<{ name: string }>(client, 'SELECT name FROM migrations');
  const epochs = await rowsOf<Epoch>(
    client,
    'SELECT min_reader AS "minReader", min_writer AS "minWriter" FROM schema_epoch',
  );
  return { applied: applied?.map(({ name }) => name), epoch: epochs?.[0] };
}

/** Returns the rows of a query; undefined if the table does not exist. */
async function rowsOf<Row extends object>(client: Client, text: string): Promise<Row[] | undefined> {
  try {
    return (await client.query<Row>(text)).rows;
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return undefined;
    throw error;
  }
}
