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
