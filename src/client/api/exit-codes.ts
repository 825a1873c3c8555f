/** EXIT contains the exit codes of the program, for scripts. */
export const EXIT = { done: 0, failed: 1, usage: 2, authentication: 3, denied: 4, pending: 5 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** ClientError ends the program with an error message for the user. */
export class ClientError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    /** HTTP status of the error response. Undefined if the service did not respond. */
    readonly status?: number,
    /** Seconds after which the call can be repeated. */
    readonly retryAfter?: number,
    /** Problem code in the response. */
    readonly problem?: string,
  ) {
    super(message);
  }
}

export function usageError(message: string): ClientError {
  return new ClientError(EXIT.usage, message);
}
