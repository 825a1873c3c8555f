import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';

/** Names the next page of a list in the Link header too (RFC 8288), for clients that follow links. */
@Injectable()
export class NextLinkInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.method !== 'GET') return next.handle();
    return next.handle().pipe(tap((body: unknown) => link(body, request, context.switchToHttp().getResponse())));
  }
}

function link(body: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const cursor = (body as { nextCursor?: unknown } | null | undefined)?.nextCursor;
  if (typeof cursor !== 'string' || reply.sent) return;
  const next = new URL(request.url, 'http://relative');
  next.searchParams.set('cursor', cursor);
  void reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
}
