/**
 * LastingSeal encrypts secrets that people enrolled and that must remain valid when settings change: authenticators, secrets of identity providers, webhooks.
 * The HSM performs the encryption (hsm/hsm-seal.ts). The class is defined here because lower layers do not depend on the HSM.
 */
export abstract class LastingSeal {
  /**
   * Encrypts at most 65,536 bytes. Throws Problems of the KeyVault.
   * @param place bound to the ciphertext, such as the ID of the row
   */
  abstract close(purpose: string, place: string, plain: Buffer): Promise<Buffer>;

  /** Decrypts output of `close`, and of Seal in earlier versions. Throws Problems of the KeyVault and `secret.not-openable`. */
  abstract open(purpose: string, place: string, sealed: Buffer): Promise<Buffer>;

  /** Returns the first bytes of new ciphertexts; undefined while they do not identify their key. */
  abstract prefix(): Promise<Buffer | undefined>;
}
