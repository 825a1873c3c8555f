import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { onceOnly } from '../api/client.js';
import type { ApiProblem } from '../api/problem.js';
import { useStepUp } from './step-up.js';
import { useToast } from './toasts.js';

interface ActionOptions<Result> {
  /** Prefixes of the operation IDs whose cached responses become stale. */
  readonly changes: readonly string[];
  /** Toast on success. */
  readonly done?: string;
  readonly onDone?: (result: Result) => void;
}

type OnceOnly = ReturnType<typeof onceOnly>;

interface Order {
  readonly input: string;
  readonly once: OnceOnly;
  /** Time of the first attempt in milliseconds. */
  readonly since: number;
}

/** useAction runs a mutation. It handles step-up, invalidates cached lists and reports the outcome in a toast. */
export function useAction<Input, Result>(
  work: (input: Input, once: OnceOnly, since: number) => Promise<{ data: Result }>,
  { changes, done, onDone }: ActionOptions<Result>,
): UseMutationResult<Result, ApiProblem, Input> {
  const { guarded } = useStepUp();
  const queries = useQueryClient();
  const notify = useToast();
  const open = useRef<Order>(undefined);
  const orderOf = (given: Input): Order => {
    const input = JSON.stringify(given) ?? '';
    if (open.current?.input !== input) open.current = { input, once: onceOnly(), since: Date.now() };
    return open.current;
  };
  return useMutation<Result, ApiProblem, Input>({
    // Responses may contain secrets and are not cached.
    gcTime: 0,
    mutationFn: async (input) => {
      const { once, since } = orderOf(input);
      const { data } = await guarded(() => work(input, once, since));
      open.current = undefined;
      return data;
    },
    // A 4xx response had no effect. Without a response the effect is unknown, so a retry keeps the idempotency key.
    onError: ({ status }) => {
      if (status >= 400 && status < 500) open.current = undefined;
    },
    onSuccess: (result) => {
      void queries.invalidateQueries({
        predicate: ({ queryKey: [first] }) => {
          const id = typeof first === 'string' ? first : (first as { _id?: string } | undefined)?._id;
          return changes.some((name) => id?.startsWith(name));
        },
      });
      if (done !== undefined) notify(done);
      onDone?.(result);
    },
  });
}
