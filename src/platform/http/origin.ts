import type { FastifyRequest } from 'fastify';

/** Where a call came from: goes into audit entries and log lines. */
export interface Origin {
  /** X-Request-Id of the call: the caller's, when it is well formed, else one of ours. */
  readonly requestId: string;
  /** Address of the client as far as the trusted proxies tell. */
  readonly address: string;
}

export function originOf(request: FastifyRequest): Origin {
  return { requestId: request.id, address: request.ip };
}
