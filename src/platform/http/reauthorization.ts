import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, map, mergeMap, type Observable, of } from 'rxjs';

/** What was found so long after the caller was let in is told only if they would be let in again. */
const WAITED_MS = 2000;

export interface AuthorizedRequest extends FastifyRequest {
  /** Set by who let the caller in: rejects when they would not be let in any more. */
  reauthorize?: () => Promise<void>;
}

/** Whoever waits for something may lose the right to hear of it meanwhile. What a call changed is answered all the same. */
@Injectable()
export class ReauthorizationInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<AuthorizedRequest>();
    const since = performance.now();
    if (request.method !== 'GET') return next.handle();
    const late = () => performance.now() - since > WAITED_MS && request.reauthorize !== undefined;
    const again = (found: unknown) => from(request.reauthorize?.() ?? Promise.resolve()).pipe(map(() => found));
    return next.handle().pipe(mergeMap((found: unknown) => (late() ? again(found) : of(found))));
  }
}

/** For streams: whether the caller would still be let in. */
export function isStillAuthorized({ reauthorize: readmit }: AuthorizedRequest): Promise<boolean> {
  return readmit === undefined
    ? Promise.resolve(true)
    : readmit().then(
        () => true,
        () => false,
      );
}
