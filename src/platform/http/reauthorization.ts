import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, map, mergeMap, type Observable, of } from 'rxjs';

/** A result that comes so long after the caller was authorized is answered only if they would be authorized again. */
const WAITED_MS = 2000;
/** Interval between two authorization checks of a client that may have stopped reading. */
const WATCH_MS = 5000;

export interface AuthorizedRequest extends FastifyRequest {
  /** Set by the access guard: whose quotas the call counts against. */
  principal?: string;
  /** Set by the access guard: rejects when the caller would not be authorized any more. */
  reauthorize?: () => Promise<void>;
}

/** Authorizes slow reads again before their answer: the caller may have lost the right meanwhile. Changes are answered in any case. */
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

/**
 * watchRight calls `lost` when the caller of a long response is no longer authorized. A client that stops reading never reaches the next part, where
 * whileAuthorized would notice, and would hold the resources of the response.
 *
 * @returns a function that stops the watch
 */
export function watchRight(request: AuthorizedRequest, lost: () => void, every = WATCH_MS): () => void {
  const timer = setInterval(() => void isStillAuthorized(request).then((is) => (is ? undefined : lost())), every);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * whileAuthorized yields the parts of a long answer as long as the caller would be authorized again. It rejects between two parts otherwise, which
 * cuts the connection, so that the reader cannot take a part for the whole.
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
