export interface PrivatePostgres {
  /** As the role `sealwright`, which owns the database `sealwright` and nothing else. */
  readonly url: string;
  /** As the superuser `postgres`, on the database `postgres`. */
  readonly adminUrl: string;
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Where the data really is: `dir`, or below /var/lib when the server account cannot reach `dir`. */
  readonly directory: string;
  readonly logFile: string;
  /** Whether it ran already. */
  readonly reused: boolean;
  /** Fast stop; resolves when the postmaster has ended. */
  stop(): Promise<void>;
  /** Ends the postmaster without a stop of the service around it; start again with the same `dir` (and so the same port). */
  kill(mode?: 'smart' | 'fast' | 'immediate' | 'kill'): Promise<void>;
}

export interface PostgresOptions {
  dir: string;
  /** Without it a free port, remembered in `dir`. */
  port?: number;
  /** Told of what takes longer or is unusual, one line each. */
  log?: (line: string) => void;
  /** Server settings on top of the usual ones, for example `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  /** Environment variables of the server, for example to preload a library. */
  environment?: Record<string, string>;
}

export function startPostgres(options: PostgresOptions): Promise<PrivatePostgres>;
export function stopPostgres(dir: string): Promise<void>;
export function removePostgres(dir: string): Promise<void>;
