/** A login to a host. */
export type Login = PrivateKeyLogin | PasswordLogin | SignerLogin;

export interface PrivateKeyLogin {
  readonly kind: 'private-key';
  readonly user: string;
  /** OpenSSH or PEM. */
  readonly privateKey: string;
  readonly passphrase?: string;
}

export interface PasswordLogin {
  readonly kind: 'password';
  readonly user: string;
  readonly password: string;
}

/** A key whose private half is elsewhere, for example in the HSM. */
export interface SignerLogin {
  readonly kind: 'signer';
  readonly user: string;
  /** RFC 4253 section 6.6 encoding. */
  readonly publicKey: Buffer;
  /**
   * Signs the data; `hash` is given for RSA keys. Answers the inner signature: for RSA and Ed25519 the raw signature, for ECDSA
   * the two mpints of RFC 5656 section 3.1.2.
   */
  readonly sign: (data: Buffer, hash: 'sha1' | 'sha256' | 'sha512' | undefined) => Promise<Buffer>;
}

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
