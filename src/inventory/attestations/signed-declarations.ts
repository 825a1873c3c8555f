import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { JsonSignaturesService } from '../../signing/documents/json-signatures.service.js';
import { AttestationsService } from './attestations.service.js';
import { declarationsOf } from './declarations.js';

/** Attestations as CycloneDX documents that are signed in themselves. */
@Injectable()
export class SignedDeclarations {
  constructor(
    private readonly attestations: AttestationsService,
    private readonly signatures: JsonSignaturesService,
  ) {}

  /** @throws Problem `attestation.missing`, and those of the signature. */
  async of(caller: Caller, id: string, key: string): Promise<object> {
    const document = declarationsOf(await this.attestations.find(id));
    const signer = await this.signatures.signer(caller, key, { filename: `attestation-${id}.cdx.json` });
    return signer.signed(document);
  }
}
