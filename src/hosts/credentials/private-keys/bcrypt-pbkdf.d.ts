declare module 'bcrypt-pbkdf' {
  interface BcryptPbkdf {
    /** Fills `key`. Answers 0 when it did. OpenBSD's bcrypt_pbkdf(3). */
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
