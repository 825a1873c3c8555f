export interface ProblemFacts {
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** Stable error code; see docs/errors.md. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** Request ID for support requests. */
  readonly requestId?: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

/** ApiProblem is a problem of the API (RFC 9457), or a substitute if there was no response. */
export class ApiProblem extends Error {
  constructor(readonly facts: ProblemFacts) {
    super(facts.detail);
  }

  get code(): string {
    return this.facts.code;
  }

  get status(): number {
    return this.facts.status;
  }

  static of(error: unknown, response: Response | undefined): ApiProblem {
    if (error instanceof ApiProblem) return error;
    if (response === undefined) {
      const detail = error instanceof Error ? error.message : '';
      return new ApiProblem({ status: 0, code: 'network', title: '', detail, errors: [] });
    }
    const body = (typeof error === 'object' && error !== null ? error : {}) as Partial<ProblemFacts>;
    const requestId = body.requestId ?? response.headers.get('x-request-id') ?? undefined;
    return new ApiProblem({
      status: response.status,
      code: body.code ?? 'unknown',
      title: body.title ?? response.statusText,
      detail: body.detail ?? '',
      ...(requestId === undefined ? {} : { requestId }),
      errors: body.errors ?? [],
    });
  }
}

/** problemOf converts a thrown value to a problem. */
export function problemOf(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : ApiProblem.of(error, undefined);
}
