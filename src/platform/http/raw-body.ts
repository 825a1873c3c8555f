import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

/** What a route takes as it comes: up to `limit` bytes of one of these media types. */
interface RawRoute {
  readonly limit: number;
  readonly types: readonly string[];
}

/** A body that nobody has looked at. */
export class RawBody {
  constructor(
    readonly bytes: Buffer,
    /** Without parameters, in lower case. */
    readonly mediaType: string,
  ) {}
}

/** The route takes its body as bytes, with its own limit. */
export const TakesRaw = (limit: number, types: readonly string[]): MethodDecorator =>
  RouteConfig({ raw: { limit, types } satisfies RawRoute });

export const TheRawBody = createParamDecorator((_: unknown, context: ExecutionContext): RawBody => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  return body instanceof RawBody ? body : new RawBody(Buffer.alloc(0), '');
});

/** The body as bytes, when the route asks for that. */
export function rawBodyOf(request: FastifyRequest, body: Buffer): RawBody | undefined {
  const route = rawRoute(request.routeOptions.config);
  const mediaType = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return route?.types.includes(mediaType) === true ? new RawBody(body, mediaType) : undefined;
}

/** Media types that only raw routes take. Must be called before routes are made, so that their limits count. */
export function readRawBodies(server: FastifyInstance, types: readonly string[]): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const raw = rawRoute(route.config);
    if (raw !== undefined) route.bodyLimit = raw.limit;
  });
  server.addContentTypeParser([...types], { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const raw = rawBodyOf(request, body);
    if (raw !== undefined) done(null, raw);
    else done(Object.assign(new Error('this route does not take this media type'), { statusCode: 415 }));
  });
}

function rawRoute(config: unknown): RawRoute | undefined {
  return (config as { raw?: RawRoute } | undefined)?.raw;
}
