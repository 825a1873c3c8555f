import { Problem } from '../../platform/errors/problem.js';
import type { WeakValues } from './weak-values.js';

const MAX_TRANSIT_ITEMS = 1000;
/** Maximum number of items processed in parallel. A higher number would delay other callers. */
const AT_ONCE = 8;

interface BatchLimits {
  readonly max?: number;
  readonly atOnce?: number;
  /** Whether the caller is still waiting. If not, the remaining items are skipped. */
  readonly isOpen?: () => boolean;
}

/** The result of an item, or its error. */
export type BatchResult<Result> = (Result | { readonly error: string }) & { readonly reference: string };

/**
 * Processes every item of `batch_input`. As in Vault, the call succeeds even if items fail: results and errors are returned in the order of the
 * items. An error that does not concern a single item aborts the call.
 *
 * @throws Problem `request.invalid` for a list that is empty or too long
 */
export async function eachOf<Result extends object>(
  items: readonly WeakValues[],
  work: (item: WeakValues) => Promise<Result>,
  { max = MAX_TRANSIT_ITEMS, atOnce = AT_ONCE, isOpen = () => true }: BatchLimits = {},
): Promise<BatchResult<Result>[]> {
  if (items.length === 0) throw refusal('missing batch input to process');
  if (items.length > max) throw refusal(`batch_input has more than ${max} items`);
  const results: BatchResult<Result>[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [i, item] of waiting) {
      if (!isOpen()) return;
      results[i] = { ...(await outcomeOf(item, work)), reference: item.text('reference') ?? '' };
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

async function outcomeOf<Result>(
  item: WeakValues,
  work: (item: WeakValues) => Promise<Result>,
): Promise<Result | { error: string }> {
  try {
    return await work(item);
  } catch (error) {
    return valueOrError<never>(() => {
      throw error;
    });
  }
}

/** Returns the value, or the error of one item. Rethrows errors that do not concern a single item. */
export function valueOrError<Result>(value: () => Result): Result | { error: string } {
  try {
    return value();
  } catch (error) {
    if (error instanceof Problem && error.kind !== 'unavailable' && error.kind !== 'overloaded')
      return { error: error.message };
    throw error;
  }
}

function refusal(detail: string): Problem {
  const errors = [{ pointer: '/batch_input', detail }];
  return new Problem('malformed', 'request.invalid', detail, { errors });
}
