/** Login contains the user and the credential for a login to a host. */
export type Login = PrivateKeyLogin | PasswordLogin | SignerLogin;

export interface PrivateKeyLogin {
  readonly kind: 'private-key';
  readonly user: string;
  /** Private key in OpenSSH or PEM format. */
  readonly privateKey: string;
  readonly passphrase?: string;
}

export interface PasswordLogin {
  readonly kind: 'password';
  readonly user: string;
  readonly password: string;
}

/** SignerLogin uses a private key that is stored elsewhere, for example in the HSM. */
export interface SignerLogin {
  readonly kind: 'signer';
  readonly user: string;
  /** Public key in the encoding of RFC 4253 section 6.6. */
  readonly publicKey: Buffer;
  /**
   * Signs the data. `hash` is set for RSA keys. Returns the inner signature: the raw signature for RSA and Ed25519, or the two mpints (RFC 5656 section 3.1.2)
   * for ECDSA.
   */
  readonly sign: (data: Buffer, hash: 'sha1' | 'sha256' | 'sha512' | undefined) => Promise<Buffer>;
}

/** SshSession is an authenticated connection to a host. Close the session when it is no longer needed. */
export interface SshSession {
  readonly hostId: string;
  readonly user: string;
  /** Fingerprint of the host key (`SHA256:…`). The host has proved possession of the key. */
  readonly hostKeyFingerprint: string;
  /** Software part of the host's version exchange. */
  readonly software: string;
  /** False after either side has ended the connection. */
  readonly isOpen: boolean;
  /** Runs one command line in the login shell. Throws Problem `host.timeout` or `host.lost`, after which the effect of the command is unknown. */
  exec(command: string, options?: ExecOptions): Promise<ExecResult>;
  /** Runs a POSIX shell script with arguments, optionally as another account. Throws Problem `host.privilege` if the login cannot switch to that account. */
  run(script: string, options?: RunOptions): Promise<ExecResult>;
  close(): void;
}

declare const CHANGES: unique symbol;

/**
 * ChangeSession is a session on a host that the service may change. Only `HostChanges.openToChange` returns a ChangeSession, and every function that writes to
 * a host requires one.
 */
export interface ChangeSession extends SshSession {
  readonly [CHANGES]: true;
}

export interface ExecOptions {
  /** Data for standard input, which is closed after the data is written. Without data, standard input is closed immediately. */
  readonly input?: Buffer;
  /** Time limit in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * Maximum number of bytes, separately for standard output and standard error. Further output is discarded, and the command is stopped. Default: 1
   * MiB.
   */
  readonly maxBytes?: number;
}

export interface RunOptions extends ExecOptions {
  readonly args?: readonly string[];
  /** Login name of the account that runs the script. */
  readonly as?: string;
}

export interface ExecResult {
  /** Exit status. Null if a signal ended the command. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Whether the output was longer than `maxBytes`. */
  readonly truncated: boolean;
}
