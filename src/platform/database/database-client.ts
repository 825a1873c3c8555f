import { Client, type ClientConfig } from 'pg';
import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.js';
import type { DatabaseAddress } from '../config/database-address.js';
import { sqlState } from '../errors/database-error.js';
import { SilenceWatch } from './silence-watch.js';

/** Session timeouts, in milliseconds. Client and server both enforce them. */
const SESSION_LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const;
const READ_ONLY = '25006';
/** A server that does not accept a new connection within this time is considered down. */
const PRESENT_MS = 3000;
/**
 * Source routine of the warning that a commit is only on the server's own disk because the wait for the standby was cancelled. The server still
 * acknowledges the COMMIT, but a failover would lose the transaction, so the acknowledgement is discarded. The text of the warning is localized; the name
 * of the routine is not.
 */
const UNCONFIRMED = 'SyncRepWaitForLSN';

type Connected = ((error: Error) => void) | ((error: null, client: Client) => void);

/** Class of database connections, instantiated by a pool. */
type DatabaseClient = new (given?: ClientConfig) => Client;

/**
 * databaseClient returns the connection class of this process. Each connection reads the address, password and certificates again, so that these settings
 * can change at runtime. With several hosts, connections use the host that responded last. If that host does not respond or is read-only, the next
 * connection uses the next host.
 *
 * Session settings are applied with SET after the connection is opened, because connection poolers reject or drop startup parameters.
 */
export function databaseClient(config: Config): DatabaseClient {
  const known = clients.get(config) ?? newDatabaseClient(config, () => config.database);
  clients.set(config, known);
  return known;
}

/** readDatabaseClient returns the class of connections to a read-only standby (SVC_DATABASE_READ_URL). */
export function readDatabaseClient(config: Config): DatabaseClient {
  return newDatabaseClient(config, () => config.readDatabase ?? config.database);
}

/** Connection classes by configuration, so that all connections with the same configuration share the state of the hosts. */
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
        // The pool assumes that a failed connection is closed. Without the call to `cut`, a connection to a skipped standby would stay open.
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

    /** Ends the connection, so that the pool opens another connection. After a failover, the server of an open connection may have become a standby. */
    private leave(): void {
      this.passOver();
      setImmediate(() => void this.end().catch(() => undefined));
    }

    private passOver(): void {
      if (turn === this.turn) turn = (turn + 1) % address().hosts.length;
    }
  };
}

/** onAnyHost calls `work`, which connects, once per database host until a call succeeds. Rejects with the last error. */
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
 * SafeClient is a connection that may fail at any time. The pool and TypeORM each listen for errors during part of a connection's lifetime, but neither
 * listens just after the connection is opened. If the database shut down or ran out of memory at that moment, the process would exit. Instead, the next
 * query fails and the pool removes the connection.
 */
class SafeClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.on('notice', ({ routine }) => {
      if (routine !== UNCONFIRMED) return;
      // The acknowledgement may be in the same packet, so the statement must fail before the acknowledgement is read.
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

  /** Closes the socket immediately, without notifying the server. The current query fails, and the pool opens another connection. */
  cut(): void {
    this.wire.stream.destroy();
  }

  /** The driver's `connection` property, which its type declarations omit. */
  protected get wire(): Wire {
    return (this as unknown as { connection: Wire }).connection;
  }
}

interface Wire extends EventEmitter {
  readonly stream: Socket;
}

/** Reports whether the server responds to a new connection, even with a rejection. */
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

/** Returns the server and credentials of one connection. */
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
      // Node.js verifies the certificate against the host. The driver sends the host name as SNI (RFC 6066), but not an address, which RFC 6066 does not
      // allow.
      host,
      ...(ca === '' ? {} : { ca: readFileSync(ca, 'utf8') }),
      ...(cert === undefined ? {} : { cert: readFileSync(cert, 'utf8') }),
      ...(key === undefined ? {} : { key: readFileSync(key, 'utf8') }),
    },
  };
}

/**
 * Settings that a role or a database may override (`ALTER ROLE … SET`) and that change the meaning of statements or the format of results. With other
 * values, dates could become null, floats could lose digits, days could start at a different time, and transactions could fail.
 */
const OWN_SETTINGS = [
  "datestyle = 'ISO, MDY'",
  "intervalstyle = 'postgres'",
  "timezone = 'UTC'",
  "bytea_output = 'hex'",
  'extra_float_digits = 1',
  'standard_conforming_strings = on',
  "default_transaction_isolation = 'read committed'",
  // PostgreSQL's own operators and functions have precedence, regardless of the role's search path.
  'search_path = "$user", public',
].map((setting) => `SET ${setting}`);

/** Returns the SET statements for a session. A commit is acknowledged only once it is on disk, and a lost peer is detected within ten seconds. */
function sessionSettings(limits: ClientConfig): string {
  const given = SESSION_LIMITS.flatMap((name) => {
    const value = limits[name];
    return typeof value === 'number' ? [`SET ${name} = ${Math.trunc(value)}`] : [];
  });
  return [...OWN_SETTINGS, ...given, 'SET tcp_user_timeout = 10000', 'SET synchronous_commit = on'].join('; ');
}
