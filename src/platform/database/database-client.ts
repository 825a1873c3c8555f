import { Client, type ClientConfig } from 'pg';
import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.js';
import type { DatabaseAddress } from '../config/database-address.js';
import { sqlState } from './database-error.js';
import { SilenceWatch } from './silence-watch.js';

/** Limits of a session, in milliseconds; both ends give up on what takes longer. */
const SESSION_LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const;
const READ_ONLY = '25006';
/** A server that has not answered within this time to somebody who connects anew is gone. */
const PRESENT_MS = 3000;
/**
 * Where the server warns that a commit is on its own disk alone: the wait for the standby was cancelled. It answers COMMIT all the same, and
 * a fail-over loses it; so the answer counts for nothing. The text of the warning is translated, the place in the source is not.
 */
const UNCONFIRMED = 'SyncRepWaitForLSN';

type Connected = ((error: Error) => void) | ((error: null, client: Client) => void);

/** A connection to the database, as a pool makes it. */
type DatabaseClient = new (given?: ClientConfig) => Client;

/**
 * The connections of a process. Each reads address, password and certificates anew, so that they can change while the process runs. Of
 * several hosts the one that answered last is taken; when it does not answer, or takes no writes, the next connection goes to the next one.
 *
 * What a session needs is set by SET after it was opened: connection poolers refuse such parameters at the start of a session, or drop them.
 */
export function databaseClient(config: Config): DatabaseClient {
  const known = clients.get(config) ?? newDatabaseClient(config, () => config.database);
  clients.set(config, known);
  return known;
}

/** Connections to a standby that is read from (SVC_DATABASE_READ_URL). */
export function readDatabaseClient(config: Config): DatabaseClient {
  return newDatabaseClient(config, () => config.readDatabase ?? config.database);
}

/** One class for all users of a configuration: what one of them learns about the hosts, the others know. */
const clients = new WeakMap<Config, DatabaseClient>();

function newDatabaseClient(config: Config, address: () => DatabaseAddress): DatabaseClient {
  let turn = 0;
  const serverAt = (at: number) => serverOf(config, address(), at);
  const silence = new SilenceWatch((server) => isThere(serverAt(server)));
  return class extends SafeClient {
    private readonly turn = turn;
    private readonly limits: ClientConfig;

    constructor({ statement_timeout, lock_timeout, idle_in_transaction_session_timeout, ...given }: ClientConfig = {}) {
      super({ ...given, ...serverAt(turn) });
      this.limits = { statement_timeout, lock_timeout, idle_in_transaction_session_timeout };
      this.wire.on('errorMessage', ({ code }: { code?: string }) => {
        if (code === READ_ONLY) this.leave();
      });
    }

    override connect(): Promise<Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<Client> | undefined {
      const opened = this.open();
      if (callback === undefined) return opened;
      const settle = callback as (error: Error | null, client?: Client) => void;
      opened.then(
        (client) => process.nextTick(settle, null, client),
        (error: Error) => process.nextTick(settle, error),
      );
      return undefined;
    }

    private async open(): Promise<Client> {
      try {
        await super.connect();
        await this.query(sessionSettings(this.limits));
        if (address().isWritable) await this.assertWritable();
        silence.watch(this, this.turn);
        return this;
      } catch (error) {
        this.passOver();
        // The pool takes a connection that could not be opened for closed: a standby that was passed over would keep it for ever.
        this.cut();
        throw error;
      }
    }

    private async assertWritable(): Promise<void> {
      const { rows } = await this.query<{ closed: boolean }>(
        `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS closed`,
      );
      if (rows[0]?.closed === true) throw new Error('connection error: the server accepts no writes');
    }

    /** After a fail-over the server of an open connection may have become a standby: the pool is to open another one. */
    private leave(): void {
      this.passOver();
      setImmediate(() => void this.end().catch(() => undefined));
    }

    private passOver(): void {
      if (turn === this.turn) turn = (turn + 1) % address().hosts.length;
    }
  };
}

/** Tries `work`, which connects, once for each host of the database, until it succeeds. Rejects with the last failure. */
export async function onAnyHost<Result>({ database }: Config, work: () => Promise<Result>): Promise<Result> {
  for (let left = database.hosts.length - 1; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/**
 * A connection that may be lost at any time. Pool and TypeORM each listen for its errors for a part of its life, and for a moment after
 * it opened neither does: a connection that the database ends in that moment (it is being stopped, or out of memory) would end the
 * process. The next query on it fails, and the pool removes it.
 */
class SafeClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.on('notice', ({ routine }) => {
      if (routine !== UNCONFIRMED) return;
      // The acknowledgement may be in the same packet: the statement has to fail before it is read.
      this.wire.emit('errorMessage', new Error('connection terminated: a commit was not confirmed by a standby'));
      this.cut();
    });
  }

  get stream(): Socket {
    return this.wire.stream;
  }

  get isBusy(): boolean {
    return !(this as unknown as { readyForQuery: boolean }).readyForQuery;
  }

  /** Ends it at once, without a word to the server. The query that is under way fails, and the pool opens another connection. */
  cut(): void {
    this.wire.stream.destroy();
  }

  /** What the driver has and does not declare. */
  protected get wire(): Wire {
    return (this as unknown as { connection: Wire }).connection;
  }
}

interface Wire extends EventEmitter {
  readonly stream: Socket;
}

/** Whether the server answers somebody who connects anew; one that refuses does. */
async function isThere(server: ClientConfig): Promise<boolean> {
  const limits = { connectionTimeoutMillis: PRESENT_MS, query_timeout: PRESENT_MS };
  const client = new SafeClient({ ...limits, ...server });
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch (error) {
    return sqlState(error) !== undefined;
  } finally {
    client.cut();
  }
}

/** Where one connection goes to, and as whom. */
function serverOf(config: Config, address: DatabaseAddress, turn: number): ClientConfig {
  const { hosts, user, password, database, isEncrypted, files, parameters } = address;
  const { host, port } = hosts[turn] ?? hosts[0];
  const { ca = config.databaseCaFile, cert, key } = files;
  const isVerified = isEncrypted || config.databaseCaFile !== '';
  return {
    ...parameters,
    host,
    port,
    database,
    ...(user === '' ? {} : { user }),
    password: config.databasePassword === '' ? password : config.databasePassword,
    ssl: isVerified && {
      rejectUnauthorized: true,
      // Node.js compares the certificate with it; the driver sends it to the server when it is a name (RFC 6066 allows no address).
      host,
      ...(ca === '' ? {} : { ca: readFileSync(ca, 'utf8') }),
      ...(cert === undefined ? {} : { cert: readFileSync(cert, 'utf8') }),
      ...(key === undefined ? {} : { key: readFileSync(key, 'utf8') }),
    },
  };
}

/**
 * What a role or a database may have set otherwise (`ALTER ROLE … SET`), and what would change what statements mean or how the driver reads their answers:
 * dates that it cannot read are null, floats lose digits, days begin elsewhere, transactions fail that succeed as a rule.
 */
const OWN_SETTINGS = [
  "datestyle = 'ISO, MDY'",
  "intervalstyle = 'postgres'",
  "timezone = 'UTC'",
  "bytea_output = 'hex'",
  'extra_float_digits = 1',
  'standard_conforming_strings = on',
  "default_transaction_isolation = 'read committed'",
  // Operators and functions of PostgreSQL come first, whatever the role's own path says.
  'search_path = "$user", public',
].map((setting) => `SET ${setting}`);

/** A commit counts once it is on disk; a peer that is gone is noticed within ten seconds. */
function sessionSettings(limits: ClientConfig): string {
  const given = SESSION_LIMITS.flatMap((name) => {
    const value = limits[name];
    return typeof value === 'number' ? [`SET ${name} = ${Math.trunc(value)}`] : [];
  });
  return [...OWN_SETTINGS, ...given, 'SET tcp_user_timeout = 10000', 'SET synchronous_commit = on'].join('; ');
}
