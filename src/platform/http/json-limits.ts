import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

/** What a route takes of JSON when it is more than usual: bytes of text, values in it. */
interface JsonLimits {
  readonly bytes: number;
  readonly values: number;
}

/** The route takes larger JSON bodies than others. */
export const TakesJson = (limits: JsonLimits): MethodDecorator => RouteConfig({ json: limits });

/** Must be called before routes are made, so that their limits count. */
export function readJsonLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route: RouteOptions) => {
    const limits = limitsOf(route.config);
    if (limits !== undefined) route.bodyLimit = limits.bytes;
  });
}

/** How many values a body of this request may have; undefined for the usual number. */
export function mostValuesOf(request: FastifyRequest): number | undefined {
  return limitsOf(request.routeOptions.config)?.values;
}

function limitsOf(config: unknown): JsonLimits | undefined {
  return (config as { json?: JsonLimits } | undefined)?.json;
}
