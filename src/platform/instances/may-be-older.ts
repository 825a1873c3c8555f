import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, Observable } from 'rxjs';
import { isDatabaseTrouble } from '../errors/database-error.js';
import { ReadReplica, type ReadSource } from './read-replica.js';

/**
 * ReplicaInterceptor reads from a standby if the data of the standby is recent enough: within SVC_DATABASE_READ_MAX_AGE_SECONDS and the age that the caller
 * accepts (`Cache-Control: max-age=2`, `no-cache`). The header `Age` contains the maximum age in seconds (RFC 9111, sections 5.1 and 5.2.1). If the standby
 * fails, the primary is used.
 */
@Injectable()
class ReplicaInterceptor implements NestInterceptor {
  constructor(private readonly replica: ReadReplica) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const wanted = maxAgeOf(http.getRequest<FastifyRequest>().headers['cache-control']);
    const fresh = this.replica.noOlderThan(wanted);
    if (fresh === undefined) return next.handle();
    const reply = http.getResponse<FastifyReply>().header('age', String(Math.ceil(fresh.age)));
    return this.answerFrom(fresh.source, next).pipe(
      catchError((error: unknown) => {
        if (!isDatabaseTrouble(error) || reply.sent) throw error;
        this.replica.failed(error);
        void reply.removeHeader('age');
        return this.answerFrom(this.replica.primary, next);
      }),
    );
  }

  private answerFrom(source: ReadSource, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => this.replica.readingFrom(source, () => next.handle().subscribe(subscriber)));
  }
}

/** MayBeOlder allows a read-only operation to use a standby. */
export const MayBeOlder = () => UseInterceptors(ReplicaInterceptor);

/** maxAgeOf returns the accepted age in seconds: 0 to read from the primary, Infinity without a limit. */
export function maxAgeOf(cacheControl = ''): number {
  if (/(?:^|[,\s])no-(?:cache|store)(?:$|[,\s])/i.test(cacheControl)) return 0;
  const [, seconds] = /(?:^|[,\s])max-age="?(\d{1,9})"?(?:$|[,\s])/i.exec(cacheControl) ?? [];
  return seconds === undefined ? Infinity : Number(seconds);
}
