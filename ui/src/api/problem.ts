export interface ProblemFacts {
  /** Of the answer; 0 when none came. */
  readonly status: number;
  /** Stable, see docs/errors.md. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** To be named when asking for help. */
  readonly requestId?: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

/** What the API answers when it refuses (RFC 9457), or what stands for it when no answer came. */
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

/** Whatever was thrown, as something that can be shown. */
export function problemOf(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : ApiProblem.of(error, undefined);
}
