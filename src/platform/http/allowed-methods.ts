import type { FastifyInstance, RouteOptions } from 'fastify';

interface KnownRoute {
  readonly segments: readonly string[];
  readonly methods: readonly string[];
}

const routes = new WeakMap<FastifyInstance, KnownRoute[]>();

/** Must be called before routes are made. */
export function rememberRoutes(server: FastifyInstance): void {
  const known: KnownRoute[] = [];
  routes.set(server, known);
  server.addHook('onRoute', ({ url, method }: RouteOptions) => {
    known.push({ segments: url.split('/'), methods: [method].flat() });
  });
}

/** The methods that a path answers to, sorted; none where there is nothing at the path. */
export function allowedMethods(server: FastifyInstance, url: string): string[] {
  const segments = (url.split('?', 1)[0] ?? '').split('/');
  const matching = (routes.get(server) ?? []).filter((route) => matches(route.segments, segments));
  return [...new Set(matching.flatMap(({ methods }) => methods))].filter((method) => method !== 'OPTIONS').sort();
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.includes('*') || pattern.length !== path.length) return false;
  return pattern.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]));
}
