/**
 * Seals what people enrolled and what therefore must outlive every setting: authenticators, secrets of identity providers, webhooks. The
 * HSM does it, see hsm/hsm-seal.ts; this class stands here because lower layers know no HSM.
 */
export abstract class LastingSeal {
  /** `place` is bound to the ciphertext, for example the id of the row. At most 65,536 bytes. Problems are those of the KeyVault. */
  abstract close(purpose: string, place: string, plain: Buffer): Promise<Buffer>;

  /** Opens what `close` gave, and what Seal gave in versions before. Problems are those of the KeyVault, and `secret.not-openable`. */
  abstract open(purpose: string, place: string, sealed: Buffer): Promise<Buffer>;

  /** The first bytes of what is sealed now; undefined while seals do not name their key. */
  abstract prefix(): Promise<Buffer | undefined>;
}
