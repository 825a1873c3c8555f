import type { FastifyInstance, RouteOptions } from 'fastify';

const DOUBLED = /\/{2,}/g;

/**
 * TolerantPath normalizes paths for the router: doubled and trailing slashes make no difference to API clients. Paths of the console are unchanged. A DELETE
 * keeps its trailing slash, so that an empty ID cannot address the whole collection.
 */
export class TolerantPath {
  /** @param aliases prefixes that are replaced with another prefix, such as `/v1/kms/` with `/v1/transit/` */
  constructor(private readonly aliases: ReadonlyMap<string, string>) {}

  of({ url = '/', method = 'GET' }: { readonly url?: string; readonly method?: string }): string {
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    if (!FOR_PROGRAMS.test(path)) return url;
    const single = path.replaceAll(DOUBLED, '/');
    const whole = TRIMMED.has(method) && single.endsWith('/') ? single.slice(0, -1) : single;
    return this.renamed(whole) + url.slice(path.length);
  }

  private renamed(path: string): string {
    for (const [alias, name] of this.aliases) if (path.startsWith(alias)) return name + path.slice(alias.length);
    return path;
  }
}

const TRIMMED = new Set(['GET', 'HEAD', 'POST', 'PUT']);
const FOR_PROGRAMS = /^\/+(?:api|v1|rest|signserver|tsa|oauth|actuator)\//;

interface KnownRoute {
  readonly segments: readonly string[];
  readonly methods: readonly string[];
}

const routes = new WeakMap<FastifyInstance, KnownRoute[]>();

/** rememberRoutes records routes for allowedMethods. Call rememberRoutes before routes are registered. */
export function rememberRoutes(server: FastifyInstance): void {
  const known: KnownRoute[] = [];
  routes.set(server, known);
  server.addHook('onRoute', ({ url, method }: RouteOptions) => {
    known.push({ segments: url.split('/'), methods: [method].flat() });
  });
}

/** allowedMethods returns the methods that a path supports, sorted; empty if the path does not exist. */
export function allowedMethods(server: FastifyInstance, url: string): string[] {
  const segments = (url.split('?', 1)[0] ?? '').split('/');
  const matching = (routes.get(server) ?? []).filter((route) => matches(route.segments, segments));
  return [...new Set(matching.flatMap(({ methods }) => methods))].filter((method) => method !== 'OPTIONS').sort();
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.includes('*') || pattern.length !== path.length) return false;
  return pattern.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]));
}
