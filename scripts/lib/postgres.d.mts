export interface PrivatePostgres {
  /** URL of the database `sealwright` as its owner, the role `sealwright`. */
  readonly url: string;
  /** URL of the database `postgres` as the superuser `postgres`. */
  readonly adminUrl: string;
  readonly port: number;
  /** Process ID of the postmaster. */
  readonly pid: number;
  /** Actual data directory: `dir`, or a directory below /var/lib if the server account cannot access `dir`. */
  readonly directory: string;
  readonly logFile: string;
  /** Whether the server was already running. */
  readonly reused: boolean;
  /** Performs a fast shutdown. Resolves when the postmaster has ended. */
  stop(): Promise<void>;
  /** Ends the postmaster while the service keeps running. Start the server again with the same `dir`, which keeps the port. */
  kill(mode?: 'smart' | 'fast' | 'immediate' | 'kill'): Promise<void>;
}

export interface PostgresOptions {
  dir: string;
  /** Port of the server; by default, a free port that is stored in `dir`. */
  port?: number;
  /** Called with a line for each long or unusual operation. */
  log?: (line: string) => void;
  /** Additional server settings, for example `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  /** Environment variables of the server, for example to preload a library. */
  environment?: Record<string, string>;
}

export function startPostgres(options: PostgresOptions): Promise<PrivatePostgres>;
export function stopPostgres(dir: string): Promise<void>;
export function removePostgres(dir: string): Promise<void>;
