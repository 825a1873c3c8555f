import { QueryClient } from '@tanstack/react-query';
import { problemOf } from '../api/problem.js';

/** queries caches API responses for all pages. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Retry only if the service is unreachable or overloaded: other errors do not change.
      retry: (count, error) => count < 2 && [0, 502, 503, 504].includes(problemOf(error).status),
    },
  },
});
