import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { finalize, type Observable } from 'rxjs';
import { Problem } from '../errors/problem.js';
import { OpenCalls } from './open-calls.js';
import type { AuthorizedRequest } from './reauthorization.js';

/** Maximum number of calls per caller and process that wait for a change. When the change happens, all waiting calls read the resource. */
const MAX_WAITING = 100;
const RETRY_SECONDS = 10;

/** WaitingCallsInterceptor limits the number of concurrent `?wait=` calls per caller. Throws Problem `wait.too-many`. */
@Injectable()
export class WaitingCallsInterceptor implements NestInterceptor {
  private readonly waiting = new OpenCalls(MAX_WAITING, (max) => {
    const detail = `You have ${max} waiting requests, which is the limit. Wait for fewer resources at a time, or poll without ?wait=.`;
    return new Problem('overloaded', 'wait.too-many', detail, { retryAfter: RETRY_SECONDS });
  });

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method, query, principal = '' } = context.switchToHttp().getRequest<AuthorizedRequest>();
    const { wait } = query as { wait?: unknown };
    if (method !== 'GET' || !(Number(wait ?? 0) > 0)) return next.handle();
    return next.handle().pipe(finalize(this.waiting.admit(principal)));
  }
}
