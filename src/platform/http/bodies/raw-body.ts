import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyContentTypeParser, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { BodyLease, BodyMemory } from './body-memory.js';

/** Port: who may send a large body, asked before any of it is read. */
export abstract class UploadAuthorizer {
  /** Returns the id of the caller that sends the body. Throws Problem 401 or 403. */
  abstract authorize(request: FastifyRequest, scope: string): Promise<string>;
}

/** Marks a route that takes raw bodies: up to `limit` bytes of one of these media types. */
interface RawRoute {
  readonly limit: number;
  readonly types: readonly string[];
  /** Its bodies are large: a caller without this scope is refused before any of the body is read, and so is a body that does not fit in memory. */
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

  /** For work that goes on when the caller has gone: the memory of the body is counted until the work is over. */
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
  const mediaType = mediaTypeOf(request);
  return route?.types.includes(mediaType) === true ? new RawBody(body, mediaType, leases.get(request)) : undefined;
}

/** Media type of a body without parameters, in lower case; '' when none is named. */
export function mediaTypeOf({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Media types that the route of a call takes. */
export function mediaTypesOf(request: FastifyRequest): readonly string[] {
  return rawRoute(request.routeOptions.config)?.types ?? [JSON_TYPE];
}

export const JSON_TYPE = 'application/json';
/** Spellings of JSON; a type with the suffix is JSON to who does not know the type (RFC 6839 section 3.1). */
const OTHER_JSON = /^(?:text\/json|application\/[\w!#$&^.+-]+\+json)$/;

/** Whether the route takes a body of this type: as bytes where it asks for that, else as JSON under any name. */
export function takesMediaType(request: FastifyRequest): boolean {
  const type = mediaTypeOf(request);
  const types = mediaTypesOf(request);
  return types.includes(type) || (rawRoute(request.routeOptions.config) === undefined && OTHER_JSON.test(type));
}

/** Must be called before routes are made, so that their limits and their media types count. `read` gives the body of a call. */
export function readRawBodies(server: FastifyInstance, read: FastifyContentTypeParser): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const raw = rawRoute(route.config);
    if (raw === undefined) return;
    route.bodyLimit = raw.limit;
    for (const type of raw.types) if (!server.hasContentTypeParser(type)) server.addContentTypeParser(type, read);
  });
}

/** Admits large bodies of callers that the authorizer admits, while memory is free. */
export function admitLargeBodies(server: FastifyInstance, authorizer: UploadAuthorizer, memory: BodyMemory): void {
  server.addHook('preParsing', async (request, reply) => {
    const raw = rawRoute(request.routeOptions.config);
    if (raw?.scope === undefined) return;
    const caller = await authorizer.authorize(request, raw.scope);
    const length = lengthOf(request, raw);
    // One that is too long is refused by its length alone.
    if (length > raw.limit || reply.raw.closed) return;
    const lease = memory.take(length, caller);
    leases.set(request, lease);
    reply.raw.once('close', () => lease.release());
  });
}

/** RFC 9112 section 6.3; a body without a declared length may have any. */
function lengthOf({ headers }: FastifyRequest, { limit }: RawRoute): number {
  if (headers['transfer-encoding'] !== undefined) return limit;
  return Number(headers['content-length'] ?? 0);
}

function rawRoute(config: unknown): RawRoute | undefined {
  return (config as { raw?: RawRoute } | undefined)?.raw;
}
