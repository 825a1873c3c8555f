import { QueryClient } from '@tanstack/react-query';
import { problemOf } from '../api/problem.js';

/** Cache of the service's answers, for all pages. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal does not change on retry; only an unreachable or overloaded service is asked again.
      retry: (count, error) => count < 2 && [0, 502, 503, 504].includes(problemOf(error).status),
    },
  },
});
