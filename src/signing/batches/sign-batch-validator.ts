import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HeldBatches } from './held-batches.js';
import { SignRequestValidator, type SigningOrder } from '../requests/sign-request-validator.js';
import type { NewSigningRequest } from '../requests/signing-attempt.js';
import { isAboutTheKey, SigningService } from '../requests/signing.service.js';

/** Maps each order to its request, or to the Problem if the order is refused. */
type Requests = Map<SigningOrder, NewSigningRequest | Problem>;

const UNKNOWN_KEY = 'signing-key.unknown';

interface Validated {
  readonly requests: Requests;
  /** IDs of the requests that are now waiting for approval. */
  readonly held: ReadonlyMap<string, string>;
}

/** SignBatchValidator submits the items of a batch. Items that need approval share one approval; every other item is a separate request. */
@Injectable()
export class SignBatchValidator {
  constructor(
    private readonly validator: SignRequestValidator,
    private readonly batches: HeldBatches,
    private readonly signing: SigningService,
  ) {}

  /** Rejects the whole batch if the caller cannot use the key of any item. An item whose key does not exist is refused individually later. */
  async assertUsableKeys(caller: Caller, orders: readonly SigningOrder[]): Promise<void> {
    for (const order of firstOfEachKey(orders).values()) {
      const refusal = await this.validator.assertUsableKey(caller, order).catch(asProblem);
      if (refusal instanceof Problem && refusal.code !== UNKNOWN_KEY) throw refusal;
    }
  }

  /** Returns one result per item. Rejected results contain the Problem. */
  async submit(
    caller: Caller,
    batchId: string,
    orders: readonly SigningOrder[],
  ): Promise<PromiseSettledResult<unknown>[]> {
    const validated = await this.validated(caller, batchId, orders).catch(asProblem);
    // Items that share an approval are recorded together or not at all. If these items are not recorded, the rest of the batch does not continue.
    if (validated instanceof Problem) return orders.map(() => ({ status: 'rejected', reason: validated }));
    const { requests, held } = validated;
    return Promise.allSettled(
      orders.map(async (order) => {
        const request = requests.get(order);
        if (request instanceof Problem) throw request;
        const id = request === undefined ? undefined : held.get(request.row.id);
        return id ?? (await this.signing.submit(caller, order, request));
      }),
    );
  }

  /** Validates the orders. As with single requests, a key is reloaded before an order is rejected because of the key's cached state. */
  private async validated(caller: Caller, batchId: string, orders: readonly SigningOrder[]): Promise<Validated> {
    try {
      return await this.validateOnce(caller, batchId, orders);
    } catch (error) {
      if (!isAboutTheKey(error)) throw error;
    }
    for (const order of orders) this.validator.forgetKeyOf(order);
    return this.validateOnce(caller, batchId, orders);
  }

  private async validateOnce(caller: Caller, batchId: string, orders: readonly SigningOrder[]): Promise<Validated> {
    const requests = await this.requestsOf(caller, orders);
    const valid = [...requests.values()].filter((one): one is NewSigningRequest => !(one instanceof Problem));
    return { requests, held: await this.batches.holdForApproval(batchId, valid) };
  }

  /** Validates the orders. Orders that are refused because of their key are validated again after the key is reloaded from the database. */
  private async requestsOf(caller: Caller, orders: readonly SigningOrder[]): Promise<Requests> {
    const requests = await this.validateAll(caller, orders);
    const stale = orders.filter((order) => isAboutTheKey(requests.get(order)));
    for (const order of firstOfEachKey(stale).values()) this.validator.forgetKeyOf(order);
    for (const [order, again] of await this.validateAll(caller, stale)) requests.set(order, again);
    return requests;
  }

  /** Validates the orders. A missing key is looked up once, not once per order. */
  private async validateAll(caller: Caller, orders: readonly SigningOrder[]): Promise<Requests> {
    const validated = async (order: SigningOrder) =>
      [order, await this.validator.validate(caller, order).catch(asProblem)] as const;
    const firsts = new Map(await Promise.all([...firstOfEachKey(orders).values()].map(validated)));
    const unknown = new Map(
      [...firsts].filter(([, one]) => isUnknownKey(one)).map(([{ key }, problem]) => [key, problem]),
    );
    // Items in an approval keep the order of the call.
    const all = orders.map(async (order) => {
      const known = firsts.get(order) ?? unknown.get(order.key);
      return known === undefined ? await validated(order) : ([order, known] as const);
    });
    return new Map(await Promise.all(all));
  }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

function isUnknownKey(found: NewSigningRequest | Problem): boolean {
  return found instanceof Problem && found.code === UNKNOWN_KEY;
}

function firstOfEachKey(orders: readonly SigningOrder[]): Map<SigningOrder['key'], SigningOrder> {
  return new Map(orders.toReversed().map((order) => [order.key, order]));
}
