/** Exit codes of the program, for scripts. */
export const EXIT = { done: 0, failed: 1, usage: 2, authentication: 3, denied: 4, pending: 5 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the program with a message for its caller. */
export class ClientError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    /** Status of the answer that refused; undefined when there was none. */
    readonly status?: number,
    /** Seconds after which it asks to be called again. */
    readonly retryAfter?: number,
    /** Code of the problem in the answer. */
    readonly problem?: string,
  ) {
    super(message);
  }
}

export function usageError(message: string): ClientError {
  return new ClientError(EXIT.usage, message);
}
