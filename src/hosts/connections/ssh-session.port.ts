/** A connection to a host, logged in. Close it when it is not needed any more. */
export interface SshSession {
  readonly hostId: string;
  readonly user: string;
  /** SHA256:… of the key that the host proved to have. */
  readonly hostKeyFingerprint: string;
  /** Software part of the host's version exchange. */
  readonly software: string;
  /** False once the connection has ended, from whichever side. */
  readonly isOpen: boolean;
  /** Runs one command line in the login shell. Throws Problem `host.timeout` or `host.lost`; what it did by then is not known. */
  exec(command: string, options?: ExecOptions): Promise<ExecResult>;
  /** Runs a POSIX shell script with arguments, as another account if need be. Throws Problem `host.privilege` when the login may not. */
  run(script: string, options?: RunOptions): Promise<ExecResult>;
  close(): void;
}

declare const CHANGES: unique symbol;

/** A session on a host that may be changed. Only `HostChanges.openToChange` answers one; whatever writes to a host asks for one. */
export interface ChangeSession extends SshSession {
  readonly [CHANGES]: true;
}

export interface ExecOptions {
  /** Standard input; closed when it is written, or at once without one. */
  readonly input?: Buffer;
  /** Default 30,000. */
  readonly timeoutMs?: number;
  /** Maximum of standard output and of standard error each; the rest is dropped and the command stopped. Default 1 MiB. */
  readonly maxBytes?: number;
}

export interface RunOptions extends ExecOptions {
  readonly args?: readonly string[];
  /** Login name of the account that it runs as. */
  readonly as?: string;
}

export interface ExecResult {
  /** Exit status; null when a signal ended the command. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** The output was longer than `maxBytes`. */
  readonly truncated: boolean;
}
