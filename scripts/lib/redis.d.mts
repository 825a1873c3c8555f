export interface PrivateRedis {
  /** With its password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly logFile: string;
  /** Whether it ran already. */
  readonly reused: boolean;
  stop(): Promise<void>;
  /** Sends the signal (SIGKILL without one) and, when it is one that ends a process, waits until it has. SIGSTOP and SIGCONT freeze and thaw. */
  kill(signal?: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export function startRedis(options: { dir: string; port?: number }): Promise<PrivateRedis>;
export function stopRedis(dir: string): Promise<void>;
