import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HeldBatches } from './held-batches.js';
import { SignRequestValidator } from '../requests/sign-request-validator.js';
import type { SigningOrder } from '../requests/signing-order.js';
import type { NewSigningRequest } from '../requests/signing-outcome.js';
import { isAboutTheKey, SigningService } from '../requests/signing.service.js';

interface Taken {
  /** In the order of the call; undefined where an order cannot be taken as it is. */
  readonly acceptances: readonly (NewSigningRequest | undefined)[];
  /** Ids of the requests that wait for approval now. */
  readonly held: ReadonlyMap<string, string>;
}

/** Lets the items of a batch in: those that need approval wait for one together, the others go their own way. */
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
    const taken = await this.taken(caller, batchId, orders).catch(asProblem);
    // What is to be approved together is held together or not at all, and then neither does the rest go on without it.
    if (taken instanceof Problem) return orders.map(() => ({ status: 'rejected', reason: taken }));
    const { acceptances, held } = taken;
    return Promise.allSettled(
      orders.map(async (order, i) => {
        const acceptance = acceptances[i];
        const id = acceptance === undefined ? undefined : held.get(acceptance.request.id);
        return id ?? (await this.signing.submit(caller, order, acceptance));
      }),
    );
  }

  /** As with single requests, what is remembered of a key is read anew before it counts against the caller. */
  private async taken(caller: Caller, batchId: string, orders: readonly SigningOrder[]): Promise<Taken> {
    try {
      return await this.takenOnce(caller, batchId, orders);
    } catch (error) {
      if (!isAboutTheKey(error)) throw error;
    }
    for (const order of orders) this.validator.forgetKeyOf(order);
    return this.takenOnce(caller, batchId, orders);
  }

  private async takenOnce(caller: Caller, batchId: string, orders: readonly SigningOrder[]): Promise<Taken> {
    const acceptances = await Promise.all(
      orders.map((order) => this.validator.newRequestOf(caller, order).catch(orUndefined)),
    );
    const there = acceptances.filter((one) => one !== undefined);
    return { acceptances, held: await this.batches.holdForApproval(batchId, there) };
  }
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

/** Taken once more by itself, and then refused with its reason. */
function orUndefined(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}
