import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';

/** A page cannot send it to another site without that site's consent (CORS), so it shows that a page of ours is asking. */
const HEADER = 'x-csrf-protection';
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * What a browser does with our cookie counts only if a page of ours began it (CWE-352). Beside SameSite, which knows sites and not
 * origins: a header that needs consent, and the browser's own word for who asks.
 */
@Injectable()
export class OwnPages {
  private readonly origins: ReadonlySet<string>;

  constructor(config: Config) {
    const others = config.isProd ? [] : config.corsOrigins;
    this.origins = new Set([new URL(config.publicUrl).origin, ...others]);
  }

  assertAsked(request: FastifyRequest): void {
    if (SAFE.has(request.method)) return;
    if (request.headers[HEADER] !== undefined && this.isOwn(request)) return;
    const detail = `A call with a cookie must come from a page of this service and bring the header "${HEADER}: 1".`;
    throw new Problem('forbidden', 'auth.cross-site', detail);
  }

  /** Fetch Metadata decides where the browser sends it; over plain http it does not, except on the same machine. */
  private isOwn({ headers, host }: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = headers;
    if (site !== undefined) return site === 'same-origin';
    if (origin === undefined || !URL.canParse(origin)) return false;
    return this.origins.has(origin) || new URL(origin).host === host;
  }
}
