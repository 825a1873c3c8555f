import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { isMlDsa } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import type { ShownBatch } from './signing-batches.reader.js';
import { type BatchOrder, SigningBatchesService } from './signing-batches.service.js';

/** Two signatures over one digest, by keys of both families: a batch of two requests that belong together. */
@Injectable()
export class DualSignaturesService {
  constructor(
    private readonly batches: SigningBatchesService,
    private readonly keys: SigningKeyReader,
  ) {}

  /** @param order the request for the RSA or EC key, then that for the ML-DSA key. Problem `dual.keys` when they are not that. */
  async submit(caller: Caller, order: BatchOrder): Promise<ShownBatch> {
    const [first, second] = await Promise.all(order.orders.map(({ key }) => this.keys.known(key)));
    if (first === undefined || isMlDsa(first.type)) throw wrongKey('/key', 'must be an RSA or EC key');
    if (second === undefined || !isMlDsa(second.type)) throw wrongKey('/postQuantumKey', 'must be an ML-DSA key');
    return this.batches.submit(caller, order);
  }
}

function wrongKey(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'dual.keys', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
