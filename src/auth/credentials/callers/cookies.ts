import type { FastifyRequest, FastifyReply } from 'fastify';
import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/config.js';
import { Problem } from '../../../platform/errors/problem.js';

export interface HostCookieOptions {
  readonly name: string;
  /** Strict: never sent on cross-site requests. Lax: also sent on top-level cross-site navigation. */
  readonly sameSite: 'Strict' | 'Lax';
  readonly maxAgeSeconds: number;
}

/**
 * HostCookie is a cookie that is sent only to this host and that scripts cannot read. Over HTTPS, the `__Host-` prefix (RFC 6265bis) makes browsers enforce the
 * restriction to this host.
 */
class HostCookie {
  private readonly name: string;
  private readonly attributes: string;
  private readonly maxAgeSeconds: number;

  constructor(publicUrl: string, { name, sameSite, maxAgeSeconds }: HostCookieOptions) {
    const https = publicUrl.startsWith('https:');
    this.name = https ? `__Host-${name}` : name;
    this.attributes = `Path=/; HttpOnly; SameSite=${sameSite}${https ? '; Secure' : ''}`;
    this.maxAgeSeconds = maxAgeSeconds;
  }

  /** Returns the value of the Set-Cookie header that sets the cookie. */
  with(value: string): string {
    return `${this.name}=${value}; Max-Age=${this.maxAgeSeconds}; ${this.attributes}`;
  }

  gone(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }

  of(request: Pick<FastifyRequest, 'headers'>): string | undefined {
    return new RegExp(`(?:^|;\\s*)${this.name}=([\\w.-]+)`).exec(request.headers.cookie ?? '')?.[1];
  }
}

/** SessionCookie is the credential of a browser session. With SameSite=Strict, browsers never send the cookie on cross-site requests. */
@Injectable()
export class SessionCookie extends HostCookie {
  constructor(config: Config) {
    const maxAgeSeconds = config.browserSessionHours * 3600;
    super(config.publicUrl, { name: 'sealwright-session', sameSite: 'Strict', maxAgeSeconds });
  }
}

/** A redirect of a browser to an identity provider. */
export interface Redirect {
  readonly url: string;
  /** Value of the SSO cookie. The browser must present the cookie when it returns from the provider. */
  readonly browser: string;
}

/**
 * SsoCookie identifies the browser in which single sign-on began. With SameSite=Lax, the browser sends the cookie when the provider redirects it back, but not
 * on a cross-site POST. The cookie is not a credential and only binds the ticket to the browser.
 */
@Injectable()
export class SsoCookie extends HostCookie {
  constructor(config: Config) {
    super(config.publicUrl, { name: 'sealwright-sso', sameSite: 'Lax', maxAgeSeconds: 660 });
  }

  /**
   * Sets the cookie and redirects the browser to the provider. Appends an empty fragment to a URL without a fragment, because browsers would otherwise pass the
   * current page's fragment on to the provider.
   */
  async leave(reply: FastifyReply, { url, browser }: Redirect): Promise<void> {
    await reply.header('set-cookie', this.with(browser)).redirect(url.includes('#') ? url : `${url}#`, 302);
  }
}

/** Pages of other origins cannot send this header unless the service permits it (CORS), so the header shows that the call comes from a page of this service. */
const HEADER = 'x-csrf-protection';
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * CsrfProtection accepts calls with a cookie only from pages of this service (CSRF, CWE-352). SameSite compares sites, not origins, so HEADER and the origin
 * that the browser reports are checked as well.
 */
@Injectable()
export class CsrfProtection {
  private readonly origins: ReadonlySet<string>;

  constructor(config: Config) {
    const others = config.isProd ? [] : config.corsOrigins;
    this.origins = new Set([new URL(config.publicUrl).origin, ...others]);
  }

  assertSameOrigin(request: FastifyRequest): void {
    if (SAFE.has(request.method)) return;
    if (request.headers[HEADER] !== undefined && this.isOwn(request)) return;
    const detail = `A request with a session cookie must come from a page of this service and contain the "${HEADER}: 1" header.`;
    throw new Problem('forbidden', 'auth.cross-site', detail);
  }

  /**
   * Reports whether a request comes from a page of this service. Fetch Metadata headers take precedence over Origin; over plain HTTP, browsers send Fetch
   * Metadata headers only to localhost.
   */
  private isOwn({ headers, host }: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = headers;
    if (site !== undefined) return site === 'same-origin';
    if (origin === undefined || !URL.canParse(origin)) return false;
    return this.origins.has(origin) || new URL(origin).host === host;
  }
}
