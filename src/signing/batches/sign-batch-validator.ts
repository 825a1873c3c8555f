import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HeldBatches } from './held-batches.js';
import { SignRequestValidator, type SigningOrder } from '../requests/sign-request-validator.js';
import type { NewSigningRequest } from '../requests/signing-attempt.js';
import { isAboutTheKey, SigningService } from '../requests/signing.service.js';

interface Validated {
  /** The requests in the order of the call; undefined where an order is refused. */
  readonly requests: readonly (NewSigningRequest | undefined)[];
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
      orders.map(async (order, i) => {
        const request = requests[i];
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
    const requests = await Promise.all(
      orders.map((order) => this.validator.validate(caller, order).catch(orUndefined)),
    );
    const valid = requests.filter((one) => one !== undefined);
    return { requests, held: await this.batches.holdForApproval(batchId, valid) };
  }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

/** A refused order is submitted once more separately, and then refused with its reason. */
function orUndefined(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}
