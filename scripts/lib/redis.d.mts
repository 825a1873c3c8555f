export interface PrivateRedis {
  /** URL with the password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly logFile: string;
  /** Whether the server was already running. */
  readonly reused: boolean;
  stop(): Promise<void>;
  /** Sends the signal, by default SIGKILL. Waits for the process to end unless the signal is SIGSTOP or SIGCONT, which freeze and resume the process. */
  kill(signal?: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export function startRedis(options: { dir: string; port?: number }): Promise<PrivateRedis>;
export function stopRedis(dir: string): Promise<void>;
