import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyContentTypeParser, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { BodyLease, BodyMemory } from './body-memory.js';
import { jsonScopeOf } from './json-body.js';

/** UploadAuthorizer is the port that decides who may send a large body, before the body is read. */
export abstract class UploadAuthorizer {
  /** Returns the ID of the caller that sends the body. Throws Problem 401 or 403. */
  abstract authorize(request: FastifyRequest, scope: string): Promise<string>;
}

/** A route that accepts raw bodies of up to `limit` bytes with one of these media types. */
interface RawRoute {
  readonly limit: number;
  readonly types: readonly string[];
  /**
   * Required scope, for routes with large bodies. Before the body is read, a request is rejected if the caller lacks this scope or if the body does not fit
   * in memory.
   */
  readonly scope?: string;
}

/** RawBody is an unparsed body. */
export class RawBody {
  constructor(
    readonly bytes: Buffer,
    /** Media type in lowercase, without parameters. */
    readonly mediaType: string,
    private readonly lease?: BodyLease,
  ) {}

  /** Runs work that may outlast the request. The memory of the body is counted until the work is complete. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.lease?.hold();
    try {
      return await work();
    } finally {
      this.lease?.release();
    }
  }
}

/** TakesRaw makes a route receive the body as bytes, with a separate size limit. */
export const TakesRaw = (limit: number, types: readonly string[], scope?: string): MethodDecorator =>
  RouteConfig({ raw: { limit, types, scope } satisfies RawRoute });

export const TheRawBody = createParamDecorator((_: unknown, context: ExecutionContext): RawBody => {
  const { body } = context.switchToHttp().getRequest<FastifyRequest>();
  return body instanceof RawBody ? body : new RawBody(Buffer.alloc(0), '');
});

const leases = new WeakMap<FastifyRequest, BodyLease>();

/** rawBodyOf returns the body as bytes if the route uses TakesRaw; otherwise undefined. */
export function rawBodyOf(request: FastifyRequest, body: Buffer): RawBody | undefined {
  const route = rawRoute(request.routeOptions.config);
  const mediaType = mediaTypeOf(request);
  return route?.types.includes(mediaType) === true ? new RawBody(body, mediaType, leases.get(request)) : undefined;
}

/** mediaTypeOf returns the media type of a body in lowercase without parameters; '' if there is none. */
export function mediaTypeOf({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** mediaTypesOf returns the media types that the route of a request accepts. */
export function mediaTypesOf(request: FastifyRequest): readonly string[] {
  return rawRoute(request.routeOptions.config)?.types ?? [JSON_TYPE];
}

export const JSON_TYPE = 'application/json';
/** Other media types for JSON. A type with the suffix +json is JSON to a recipient that does not know the type (RFC 6839 section 3.1). */
const OTHER_JSON = /^(?:text\/json|application\/[\w!#$&^.+-]+\+json)$/;

/** takesMediaType returns true if the route accepts the media type of the request. Routes without raw bodies accept every media type for JSON. */
export function takesMediaType(request: FastifyRequest): boolean {
  const type = mediaTypeOf(request);
  const types = mediaTypesOf(request);
  return types.includes(type) || (rawRoute(request.routeOptions.config) === undefined && OTHER_JSON.test(type));
}

/**
 * readRawBodies applies the limits and media types of routes. Call readRawBodies before routes are registered.
 * @param read parser that returns the body of a request
 */
export function readRawBodies(server: FastifyInstance, read: FastifyContentTypeParser): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const raw = rawRoute(route.config);
    if (raw === undefined) return;
    route.bodyLimit = raw.limit;
    for (const type of raw.types) if (!server.hasContentTypeParser(type)) server.addContentTypeParser(type, read);
  });
}

/** admitLargeBodies admits large bodies of authorized callers, and raw bodies only while memory is available. */
export function admitLargeBodies(server: FastifyInstance, authorizer: UploadAuthorizer, memory: BodyMemory): void {
  server.addHook('preParsing', async (request, reply) => {
    const raw = rawRoute(request.routeOptions.config);
    const jsonScope = isAboveLimit(request, server.initialConfig.bodyLimit) ? jsonScopeOf(request) : undefined;
    if (jsonScope !== undefined) await authorizer.authorize(request, jsonScope);
    if (raw?.scope === undefined) return;
    const caller = await authorizer.authorize(request, raw.scope);
    const length = lengthOf(request, raw);
    // Reading the body rejects a body that exceeds the limit.
    if (length > raw.limit || reply.raw.closed) return;
    const lease = memory.take(length, caller);
    leases.set(request, lease);
    reply.raw.once('close', () => lease.release());
  });
}

/** Reports whether a body may be longer than the default limit. */
function isAboveLimit({ headers }: FastifyRequest, limit = 0): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > limit;
}

/** Returns the maximum length of a body (RFC 9112 section 6.3). A body without a declared length may have any length up to the limit. */
function lengthOf({ headers }: FastifyRequest, { limit }: RawRoute): number {
  if (headers['transfer-encoding'] !== undefined) return limit;
  return Number(headers['content-length'] ?? 0);
}

function rawRoute(config: unknown): RawRoute | undefined {
  return (config as { raw?: RawRoute } | undefined)?.raw;
}
