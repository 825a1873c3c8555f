import type { FastifyRequest } from 'fastify';
import { truncate } from '../text/truncate.js';

/** Where a call came from: goes into audit entries and log lines. */
export interface Origin {
  /** X-Request-Id of the call: the caller's, when it is well formed, else one of ours. */
  readonly requestId: string;
  /** Address of the client as far as the trusted proxies tell. */
  readonly address: string;
  /** What the client says it is (User-Agent), cut to 200 characters; shown to people who look through their sessions. */
  readonly agent?: string;
}

export function originOf(request: FastifyRequest): Origin {
  return { requestId: request.id, address: request.ip, agent: agentOf(request) };
}

function agentOf({ headers }: FastifyRequest): string | undefined {
  const agent = headers['user-agent'];
  return agent === undefined ? undefined : truncate(agent, 200);
}
