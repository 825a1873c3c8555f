import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { ArrivingBodies } from './arriving-bodies.js';
import type { BodyLease, BodyRoom } from './body-room.js';
import type { Doorman } from './doorman.js';

/** What a route takes as it comes: up to `limit` bytes of one of these media types. */
interface RawRoute {
  readonly limit: number;
  readonly types: readonly string[];
  /** Its bodies are large: whoever lacks this scope, or finds no room, is refused before any of the body is read. */
  readonly scope?: string;
}

/** A body that nobody has looked at. */
export class RawBody {
  constructor(
    readonly bytes: Buffer,
    /** Without parameters, in lower case. */
    readonly mediaType: string,
    private readonly lease?: BodyLease,
  ) {}

  /** For work that goes on when the caller has gone: the room that the body takes is counted until the work is over. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.lease?.hold();
    try {
      return await work();
    } finally {
      this.lease?.release();
    }
  }
}

/** The route takes its body as bytes, with its own limit. */
export const TakesRaw = (limit: number, types: readonly string[], scope?: string): MethodDecorator =>
  RouteConfig({ raw: { limit, types, scope } satisfies RawRoute });

export const TheRawBody = createParamDecorator((_: unknown, context: ExecutionContext): RawBody => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  return body instanceof RawBody ? body : new RawBody(Buffer.alloc(0), '');
});

const leases = new WeakMap<FastifyRequest, BodyLease>();

/** The body as bytes, when the route asks for that. */
export function rawBodyOf(request: FastifyRequest, body: Buffer): RawBody | undefined {
  const route = rawRoute(request.routeOptions.config);
  const mediaType = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return route?.types.includes(mediaType) === true ? new RawBody(body, mediaType, leases.get(request)) : undefined;
}

/** Media types that only raw routes take. Must be called before routes are made, so that their limits count. */
export function readRawBodies(server: FastifyInstance, bodies: ArrivingBodies, types: readonly string[]): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const raw = rawRoute(route.config);
    if (raw !== undefined) route.bodyLimit = raw.limit;
  });
  server.addContentTypeParser([...types], async (request: FastifyRequest, body: IncomingMessage) => {
    const raw = rawBodyOf(request, await bodies.read(request, body));
    if (raw !== undefined) return raw;
    throw Object.assign(new Error('this route does not take this media type'), { statusCode: 415 });
  });
}

/** Lets large bodies in: from whom the doorman admits, while there is room. */
export function admitLargeBodies(server: FastifyInstance, doorman: Doorman, room: BodyRoom): void {
  server.addHook('preParsing', async (request, reply) => {
    const raw = rawRoute(request.routeOptions.config);
    if (raw?.scope === undefined) return;
    await doorman.admit(request, raw.scope);
    const length = lengthOf(request, raw);
    // One that is too long is refused by its length alone.
    if (length > raw.limit || reply.raw.closed) return;
    const lease = room.take(length);
    leases.set(request, lease);
    reply.raw.once('close', () => lease.release());
  });
}

/** RFC 9112 section 6.3; a body that does not tell its length may have any. */
function lengthOf({ headers }: FastifyRequest, { limit }: RawRoute): number {
  if (headers['transfer-encoding'] !== undefined) return limit;
  return Number(headers['content-length'] ?? 0);
}

function rawRoute(config: unknown): RawRoute | undefined {
  return (config as { raw?: RawRoute } | undefined)?.raw;
}
