declare module 'bcrypt-pbkdf' {
  interface BcryptPbkdf {
    /** Derives `key` with OpenBSD's bcrypt_pbkdf(3). Returns 0 on success. */
    pbkdf(
      passphrase: Uint8Array,
      passphraseLength: number,
      salt: Uint8Array,
      saltLength: number,
      key: Uint8Array,
      keyLength: number,
      rounds: number,
    ): number;
  }
  const bcrypt: BcryptPbkdf;
  export default bcrypt;
}
