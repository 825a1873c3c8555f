import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../../platform/errors/problem.js';
import { RefusedSignIn } from '../sign-in/sso-sign-in.service.js';
import { ProblemFilter, Refusals } from '../../../platform/http/server/problem.filter.js';

/**
 * SignInPageFilter redirects a browser to the sign-in page of the console, which explains the error code. Other clients receive the problem itself. Refusals
 * are audited.
 */
@Catch(Problem)
@Injectable()
export class SignInPageFilter implements ExceptionFilter<Problem> {
  constructor(
    private readonly refusals: Refusals,
    private readonly problems: ProblemFilter,
  ) {}

  async catch(problem: Problem, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const place = problem instanceof RefusedSignIn ? problem.place : undefined;
    if (place === undefined && !(request.headers.accept ?? '').includes('text/html'))
      return this.problems.catch(problem, host);
    try {
      if (problem.kind !== 'unavailable') await this.refusals.record(request, problem);
    } catch (cause) {
      return this.problems.catch(cause, host);
    }
    void reply.redirect(place ?? `/#error=${problem.code}`, 303);
  }
}
