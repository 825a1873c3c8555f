import { Injectable } from '@nestjs/common';
import type { LastingSeal } from '../platform/sealing/lasting-seal.js';
import { Seal } from '../platform/sealing/seal.js';
import { SealFormat } from '../platform/sealing/seal-format.js';
import { HsmSeal } from './hsm-seal.js';

/** What the HSM sealed begins with this, followed by what HsmSeal gave, which names its key. */
const HSM_MARK = Buffer.from('sealhsm1');

/** Seals by the HSM, and opens besides what a version before sealed by a key from SVC_JWT_SECRET. */
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
