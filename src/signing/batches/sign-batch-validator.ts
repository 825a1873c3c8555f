import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HeldBatches } from './held-batches.js';
import { SignRequestValidator, type SigningOrder } from '../requests/sign-request-validator.js';
import type { NewSigningRequest } from '../requests/signing-attempt.js';
import { isAboutTheKey, SigningService } from '../requests/signing.service.js';

/** The request of each order, or why it is refused. */
type Requests = Map<SigningOrder, NewSigningRequest | Problem>;

interface Validated {
  readonly requests: Requests;
  /** Ids of the requests that wait for approval now. */
  readonly held: ReadonlyMap<string, string>;
}

/** Submits the items of a batch: those that need approval share one approval, each of the others is a separate request. */
@Injectable()
export class SignBatchValidator {
  constructor(
    private readonly validator: SignRequestValidator,
    private readonly batches: HeldBatches,
    private readonly signing: SigningService,
  ) {}

  /** One result per item; a rejection with a Problem is why it was not accepted. */
  async submit(
    caller: Caller,
    batchId: string,
    orders: readonly SigningOrder[],
  ): Promise<PromiseSettledResult<unknown>[]> {
    const validated = await this.validated(caller, batchId, orders).catch(asProblem);
    // The items of an approval are recorded together or not at all, and in the latter case the rest of the batch does not continue.
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

  /** As with single requests, a key is read again before its cached state leads to a refusal. */
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

  /** Validates the orders. Those that are refused because of their key are validated once more, with the key as the database has it now. */
  private async requestsOf(caller: Caller, orders: readonly SigningOrder[]): Promise<Requests> {
    const requests = await this.validateAll(caller, orders);
    const stale = orders.filter((order) => isAboutTheKey(requests.get(order)));
    for (const order of firstOfEachKey(stale).values()) this.validator.forgetKeyOf(order);
    for (const [order, again] of await this.validateAll(caller, stale)) requests.set(order, again);
    return requests;
  }

  /** An absent key is looked up once, not for each of its orders. */
  private async validateAll(caller: Caller, orders: readonly SigningOrder[]): Promise<Requests> {
    const found: Requests = new Map();
    const validate = async (order: SigningOrder) =>
      void found.set(order, await this.validator.validate(caller, order).catch(asProblem));
    const firsts = firstOfEachKey(orders);
    await Promise.all([...firsts.values()].map(validate));
    await Promise.all(
      orders.map(async (order) => {
        const first = firsts.get(order.key);
        const ofFirst = first === undefined ? undefined : found.get(first);
        if (ofFirst instanceof Problem && ofFirst.code === 'signing-key.unknown') found.set(order, ofFirst);
        else if (order !== first) await validate(order);
      }),
    );
    // In the order of the call, which is that of the items of an approval.
    const place = new Map(orders.map((order, i) => [order, i]));
    return new Map([...found].toSorted(([a], [b]) => (place.get(a) ?? 0) - (place.get(b) ?? 0)));
  }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

function firstOfEachKey(orders: readonly SigningOrder[]): Map<SigningOrder['key'], SigningOrder> {
  return new Map(orders.toReversed().map((order) => [order.key, order]));
}
