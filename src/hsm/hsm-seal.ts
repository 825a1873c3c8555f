import { Injectable } from '@nestjs/common';
import { KeyVault } from './key-vault.js';
import type { LastingSeal } from '../platform/sealing/lasting-seal.js';
import { Seal } from '../platform/sealing/seal.js';
import { SealFormat } from '../platform/sealing/seal-format.js';

/**
 * HsmSeal encrypts small secrets for the database with a key that never leaves the HSM. The secrets cannot be decrypted without the HSM, even with access to
 * the database and all settings. A secret that is encrypted for one purpose and place cannot be decrypted for another purpose or place. Throws the Problems of
 * KeyVault. `open` throws `hsm.not-authentic` if the bytes were changed, or if the purpose or place differs from the value passed to `close`.
 */
@Injectable()
export class HsmSeal {
  constructor(private readonly vault: KeyVault) {}

  /**
   * Encrypts `plain`, which must be 1 to 65,536 bytes long. `purpose` is a caller-defined constant without NUL. `place` (for example a row ID) is bound to
   * the ciphertext as associated data.
   */
  async close(purpose: string, place: string, plain: Buffer): Promise<Buffer> {
    return await this.vault.seal({ plain, associatedData: placeOf(purpose, place) });
  }

  /** Returns the first bytes of new ciphertexts, which identify the method and the key. */
  async prefix(): Promise<Buffer> {
    const sealed = await this.close('name of the sealing key', '', Buffer.alloc(1));
    return sealed.subarray(0, KEY_NAME_BYTES);
  }

  async open(purpose: string, place: string, sealed: Buffer): Promise<Buffer> {
    return await this.vault.unseal({ sealed, associatedData: placeOf(purpose, place) });
  }
}

/** Total length of the method and the CKA_ID at the start of sealed bytes; see pkcs11/token-sealer.ts. */
const KEY_NAME_BYTES = 17;

function placeOf(purpose: string, place: string): Buffer {
  return Buffer.from(`${purpose}\0${place}`);
}

/** Prefix of secrets sealed by the HSM. The output of HsmSeal follows the prefix and identifies the key. */
const HSM_MARK = Buffer.from('sealhsm1');

/** HsmLastingSeal encrypts with the HSM. It also decrypts secrets that an earlier version encrypted with a key derived from SVC_JWT_SECRET. */
@Injectable()
export class HsmLastingSeal implements LastingSeal {
  constructor(
    private readonly hsm: HsmSeal,
    private readonly secret: Seal,
    private readonly format: SealFormat,
  ) {}

  async close(purpose: string, place: string, plain: Buffer): Promise<Buffer> {
    if (!this.format.namesKeys) return this.secret.close(purpose, place, plain);
    return Buffer.concat([HSM_MARK, await this.hsm.close(purpose, place, plain)]);
  }

  async open(purpose: string, place: string, sealed: Buffer): Promise<Buffer> {
    if (!sealed.subarray(0, HSM_MARK.length).equals(HSM_MARK)) return this.secret.open(purpose, place, sealed);
    return this.hsm.open(purpose, place, sealed.subarray(HSM_MARK.length));
  }

  async prefix(): Promise<Buffer | undefined> {
    return this.format.namesKeys ? Buffer.concat([HSM_MARK, await this.hsm.prefix()]) : undefined;
  }
}
