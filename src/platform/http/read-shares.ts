import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { defer, finalize, mergeMap, type Observable } from 'rxjs';
import { Problem } from '../errors/problem.js';
import { EVENT_STREAM } from './event-stream.js';
import type { AuthorizedRequest } from './reauthorization.js';

/** Maximum number of queued reads per caller and process. */
const MAX_QUEUED = 1000;
const RETRY_SECONDS = 5;
interface Reads {
  running: number;
  readonly queued: (() => void)[];
}

/**
 * ReadSharesInterceptor limits the reads of one caller that run at the same time, so that slow reads of one caller do not use all database connections of the
 * process. Further reads of the caller are queued. Event streams and calls with `?wait=` have their own limits, because most of the time they use no
 * database connection. Throws Problem `read.too-many` if too many reads are queued.
 */
@Injectable()
export class ReadSharesInterceptor implements NestInterceptor {
  private readonly reads = new Map<string, Reads>();

  /** @param share maximum number of running reads per caller */
  constructor(private readonly share: number) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method, query, principal } = context.switchToHttp().getRequest<AuthorizedRequest>();
    const { wait } = query as { wait?: unknown };
    const isStream = Reflect.getMetadata(EVENT_STREAM, context.getHandler()) === true;
    const isShort = !(Number(wait ?? 0) > 0) && !isStream;
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || principal === undefined || !isShort) return next.handle();
    return defer(() => this.turn(principal)).pipe(mergeMap((release) => next.handle().pipe(finalize(release))));
  }

  /** Waits until the caller may run another read. Returns the function that ends the read. */
  private async turn(principal: string): Promise<() => void> {
    const reads = this.reads.get(principal) ?? { running: 0, queued: [] };
    this.reads.set(principal, reads);
    if (reads.queued.length >= MAX_QUEUED) throw tooMany();
    if (reads.running < this.share) reads.running += 1;
    else await new Promise<void>((resolve) => reads.queued.push(resolve));
    return () => {
      const following = reads.queued.shift();
      if (following !== undefined) return following();
      reads.running -= 1;
      if (reads.running === 0) this.reads.delete(principal);
    };
  }
}

function tooMany(): Problem {
  const detail = `You have ${MAX_QUEUED} queued requests, which is the limit. Retry after ${RETRY_SECONDS} seconds, with fewer concurrent requests.`;
  return new Problem('overloaded', 'read.too-many', detail, { retryAfter: RETRY_SECONDS });
}
