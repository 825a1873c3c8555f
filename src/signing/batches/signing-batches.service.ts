import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { type Caller, principalOf } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { IdempotencyKeys, idempotentUse } from '../../platform/http/idempotency-keys.js';
import type { SigningOrder } from '../requests/sign-request-validator.js';
import { SignBatchValidator } from './sign-batch-validator.js';
import { type RefusedItem, SigningBatch } from '../signing-request.entity.js';
import { SigningBatchesReader, type ShownBatch } from './signing-batches.reader.js';
import { isMlDsa } from '../../hsm/key-vault.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { confirmRead } from '../../platform/database/statements.js';

export interface BatchOrder {
  /** Orders in the call, without idempotency key and index. */
  readonly orders: readonly SigningOrder[];
  readonly background: boolean;
  readonly idempotencyKey?: string;
}

/** Maximum time in seconds that a call with a repeated Idempotency-Key waits for a batch in progress. */
const REPEAT_WAIT_S = 10;
/** Maximum number of refused items quoted in the audit entry. */
const MAX_QUOTED = 20;

/** SigningBatchesService signs many digests in one call. The requests are committed in groups, together with requests from other callers. */
@Injectable()
export class SigningBatchesService {
  constructor(
    private readonly db: DataSource,
    private readonly validator: SignBatchValidator,
    private readonly idempotency: IdempotencyKeys,
    private readonly audit: AuditService,
    private readonly reader: SigningBatchesReader,
  ) {}

  /** Signs the items of a batch. A repeated call continues where the first call was interrupted. Accepted items are not accepted again. */
  async submit(caller: Caller, order: BatchOrder): Promise<ShownBatch> {
    await this.validator.assertUsableKeys(caller, order.orders);
    const batch = await this.reserve(caller, order);
    if (batch.refused !== null) {
      const shown = await this.reader.find(caller, batch.id, order.background ? 0 : REPEAT_WAIT_S);
      await confirmRead(this.db);
      return shown;
    }
    const orders = order.orders.map((one, index) => ({
      ...one,
      batch: { id: batch.id, index },
      idempotencyKey: order.idempotencyKey === undefined ? undefined : `${batch.id}.${index}`,
    }));
    const results = await this.validator.submit(caller, batch.id, orders);
    const shown = await this.reader.find(caller, batch.id);
    await this.complete(caller, batch, refusedOf(results, new Set(shown.items.map(({ index }) => index))));
    return this.reader.find(caller, batch.id);
  }

  private async reserve(caller: Caller, { orders, background, idempotencyKey }: BatchOrder): Promise<SigningBatch> {
    const id = newId();
    const use = idempotentUse(idempotencyKey, {
      principal: principalOf(caller),
      operation: 'signBatch',
      body: { orders, background },
      resource: id,
    });
    return this.db.transaction(async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier === undefined)
        await tx.insert(SigningBatch, { id, size: orders.length, ownerId: caller.ownerId, requestedBy: caller.id });
      return tx.findOneByOrFail(SigningBatch, { id: earlier ?? id });
    });
  }

  private async complete(caller: Caller, { id, size }: SigningBatch, refused: RefusedItem[]): Promise<void> {
    const quoted = refused.slice(0, MAX_QUOTED).map(({ index, code }) => ({ index, code }));
    await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE signing_batch SET refused = $2 WHERE id = $1 AND refused IS NULL`,
        [id, JSON.stringify(refused)],
      );
      if (moved !== 1) return;
      const detail = { size, accepted: size - refused.length, refused: refused.length, quoted };
      const target = { kind: 'signing-batch', id };
      await this.audit.appendBy(tx, caller, { action: 'signing.batch', target, detail });
    });
  }
}

/**
 * Returns the refused items with the reasons. Rethrows an error that is temporary (429) or not a refusal; the batch then remains open, and a repeated call
 * continues the batch.
 */
function refusedOf(results: readonly PromiseSettledResult<unknown>[], accepted: ReadonlySet<number>): RefusedItem[] {
  return results.flatMap((result, index) => {
    if (result.status === 'fulfilled' || accepted.has(index)) return [];
    const { reason }: { reason: unknown } = result;
    if (!(reason instanceof Problem) || reason.kind === 'overloaded') throw reason;
    return [{ index, code: reason.code, detail: reason.message }];
  });
}

/** DualSignaturesService signs one digest with two keys of different families, as a batch of two requests. */
@Injectable()
export class DualSignaturesService {
  constructor(
    private readonly batches: SigningBatchesService,
    private readonly keys: SigningKeyReader,
  ) {}

  /**
   * @param order the request for the RSA or EC key, followed by the request for the ML-DSA key
   * @throws Problem `dual.keys` for any other combination of keys
   */
  async submit(caller: Caller, order: BatchOrder): Promise<ShownBatch> {
    const [first, second] = await Promise.all(order.orders.map(({ key }) => this.keys.known(caller, key)));
    if (first === undefined || isMlDsa(first.type)) throw wrongKey('/key', 'must be an RSA or EC key');
    if (second === undefined || !isMlDsa(second.type)) throw wrongKey('/postQuantumKey', 'must be an ML-DSA key');
    return this.batches.submit(caller, order);
  }
}

function wrongKey(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'dual.keys', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
