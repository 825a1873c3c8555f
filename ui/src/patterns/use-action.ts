import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { onceOnly } from '../api/client.js';
import type { ApiProblem } from '../api/problem.js';
import { useStepUp } from './step-up.js';
import { useToast } from './toasts.js';

interface ActionOptions<Result> {
  /** Operations whose answers are out of date afterwards, by operationId. All that start with one of these. */
  readonly changes: readonly string[];
  /** Said when it went well. */
  readonly done?: string;
  readonly onDone?: (result: Result) => void;
}

type OnceOnly = ReturnType<typeof onceOnly>;

interface Order {
  readonly input: string;
  readonly once: OnceOnly;
  /** When it was given first, in milliseconds. */
  readonly since: number;
}

/** Something that a person does: asks them to show themselves again where that is wanted, brings lists up to date, tells the outcome. */
export function useAction<Input, Result>(
  work: (input: Input, once: OnceOnly, since: number) => Promise<{ data: Result }>,
  { changes, done, onDone }: ActionOptions<Result>,
): UseMutationResult<Result, ApiProblem, Input> {
  const { guarded } = useStepUp();
  const queries = useQueryClient();
  const say = useToast();
  const open = useRef<Order>(undefined);
  const orderOf = (given: Input): Order => {
    const input = JSON.stringify(given) ?? '';
    if (open.current?.input !== input) open.current = { input, once: onceOnly(), since: Date.now() };
    return open.current;
  };
  return useMutation<Result, ApiProblem, Input>({
    // An answer may hold a secret: nothing keeps it once nobody looks at it.
    gcTime: 0,
    mutationFn: async (input) => {
      const { once, since } = orderOf(input);
      const { data } = await guarded(() => work(input, once, since));
      open.current = undefined;
      return data;
    },
    // Refused, so nothing was done. Of an answer that did not come nobody knows: whoever tries the same again does it once.
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
      if (done !== undefined) say(done);
      onDone?.(result);
    },
  });
}
