import { QueryClient } from '@tanstack/react-query';
import { problemOf } from '../api/problem.js';

/** What was read from the service, for all pages. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What was refused is refused again; only a lost or overloaded service is worth another try.
      retry: (count, error) => count < 2 && [0, 502, 503, 504].includes(problemOf(error).status),
    },
  },
});
