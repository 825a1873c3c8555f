import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
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

/** Something that a person does: asks them to show themselves again where that is wanted, brings lists up to date, tells the outcome. */
export function useAction<Input, Result>(
  work: (input: Input) => Promise<{ data: Result }>,
  { changes, done, onDone }: ActionOptions<Result>,
): UseMutationResult<Result, ApiProblem, Input> {
  const { guarded } = useStepUp();
  const queries = useQueryClient();
  const say = useToast();
  return useMutation<Result, ApiProblem, Input>({
    // An answer may hold a secret: nothing keeps it once nobody looks at it.
    gcTime: 0,
    mutationFn: async (input) => (await guarded(() => work(input))).data,
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
