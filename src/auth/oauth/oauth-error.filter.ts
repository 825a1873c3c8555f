import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../platform/errors/problem.js';
import { ProblemFilter, Refusals } from '../../platform/http/server/problem.filter.js';
import { OAuthError } from './oauth-error.js';

/** A device that waits its turn has done nothing wrong. */
const NO_EVENT = new Set(['authorization_pending', 'slow_down']);

/** Answers errors of the /oauth endpoints in their own form (RFC 6749 section 5.2), and writes refusals down like any other. */
@Catch(OAuthError)
@Injectable()
export class OAuthErrorFilter implements ExceptionFilter<OAuthError> {
  constructor(
    private readonly refusals: Refusals,
    private readonly problems: ProblemFilter,
  ) {}

  async catch(error: OAuthError, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    try {
      if (!NO_EVENT.has(error.code)) await this.refusals.record(request, asProblem(error));
    } catch (cause) {
      await this.problems.catch(cause, host);
      return;
    }
    if (error.status === 401) void reply.header('www-authenticate', 'Basic realm="sealwright"');
    void reply
      .status(error.status)
      .header('content-type', 'application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('pragma', 'no-cache')
      .send({ error: error.code, error_description: error.message });
  }
}

/** As the audit log knows it; `pointers` there names the error. */
function asProblem({ code, status, message }: OAuthError): Problem {
  const errors = [{ pointer: code, detail: message }];
  if (status === 401) return new Problem('unauthenticated', 'oauth.client', message, { errors });
  return new Problem('malformed', 'oauth.refused', message, { errors });
}
