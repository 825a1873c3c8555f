/**
 * LastingSeal encrypts stored secrets that must remain valid when settings change: the secrets of authenticators, identity providers and webhooks. The HSM
 * performs the encryption (hsm/hsm-seal.ts). The class is defined here because lower layers do not depend on the HSM.
 */
export abstract class LastingSeal {
  /**
   * Encrypts at most 65,536 bytes. Throws Problems of the KeyVault.
   * @param place associated data to which the ciphertext is bound, such as the ID of the row
   */
  abstract close(purpose: string, place: string, plain: Buffer): Promise<Buffer>;

  /** Decrypts output of `close`, and output of Seal in earlier versions. Throws Problems of the KeyVault and `secret.not-openable`. */
  abstract open(purpose: string, place: string, sealed: Buffer): Promise<Buffer>;

  /** Returns the prefix of new ciphertexts, or undefined until ciphertexts include a key ID. */
  abstract prefix(): Promise<Buffer | undefined>;
}
