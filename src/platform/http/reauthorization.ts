import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, map, mergeMap, type Observable, of } from 'rxjs';

/** Time since authorization after which the caller is authorized again before the result is returned. */
const WAITED_MS = 2000;
/** Interval between two authorization checks of a client that may have stopped reading. */
const WATCH_MS = 5000;

export interface AuthorizedRequest extends FastifyRequest {
  /** Set by the access guard: the principal whose quotas apply to the request. */
  principal?: string;
  /** Set by the access guard: rejects if the caller is no longer authorized. */
  reauthorize?: () => Promise<void>;
}

/**
 * ReauthorizationInterceptor authorizes the caller of a slow read again before returning the result, because the caller may have lost the right. Changes
 * always return their result.
 */
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

/** isStillAuthorized returns whether the caller of a stream is still authorized. */
export function isStillAuthorized({ reauthorize: readmit }: AuthorizedRequest): Promise<boolean> {
  return readmit === undefined
    ? Promise.resolve(true)
    : readmit().then(
        () => true,
        () => false,
      );
}

/**
 * watchRight calls `lost` when the caller of a long response is no longer authorized. whileAuthorized checks the caller only when the client reads the next
 * part, so a client that stops reading would otherwise hold the resources of the response.
 *
 * @returns function that stops the watch
 */
export function watchRight(request: AuthorizedRequest, lost: () => void, every = WATCH_MS): () => void {
  const timer = setInterval(() => void isStillAuthorized(request).then((is) => (is ? undefined : lost())), every);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * whileAuthorized yields the parts of a long response while the caller is authorized. Otherwise, whileAuthorized rejects between two parts. The connection
 * is then closed, so that the client cannot mistake a partial response for a complete response.
 *
 * @param every milliseconds between two checks
 */
export async function* whileAuthorized<Part>(
  { reauthorize }: Pick<AuthorizedRequest, 'reauthorize'>,
  parts: AsyncIterable<Part>,
  every = WAITED_MS,
): AsyncGenerator<Part> {
  let checkedAt = performance.now();
  for await (const part of parts) {
    if (performance.now() - checkedAt >= every) {
      await reauthorize?.();
      checkedAt = performance.now();
    }
    yield part;
  }
}
