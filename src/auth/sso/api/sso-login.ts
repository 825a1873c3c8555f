import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../../platform/config/config.js';
import { Problem } from '../../../platform/errors/problem.js';
import { originOf } from '../../../platform/http/origin.js';
import { type Redirect, SsoCookie } from '../../credentials/callers/cookies.js';
import { returnPath, SsoBeginnings, type SsoOrder } from '../sign-in/sso-transactions.js';

/** SsoLogin starts the sign-in of a browser at an identity provider. */
@Injectable()
export class SsoLogin {
  constructor(
    private readonly config: Config,
    private readonly beginnings: SsoBeginnings,
    private readonly cookie: SsoCookie,
  ) {}

  /**
   * Redirects the browser to the provider. If another site started the request, the browser is redirected to the page in `returnTo` instead, where a person who
   * is not signed in can start the sign-in. Otherwise, another site could replace a person's session with a session for an attacker's account (login CSRF).
   */
  async start(
    request: FastifyRequest,
    reply: FastifyReply,
    order: SsoOrder,
    provider: { begin(order: SsoOrder): Promise<Redirect> },
  ): Promise<void> {
    if (isSentByAnotherSite(request)) {
      await reply.redirect(returnPath(order.returnTo, this.config.publicUrl), 303);
      return;
    }
    await this.beginnings.assertMayBegin(originOf(request));
    await this.cookie.leave(reply, await provider.begin(order));
  }
}

/**
 * Reports whether another site started the request. Browsers send Sec-Fetch-Site (Fetch Metadata) over HTTPS, and over plain HTTP only to localhost. `none`
 * means that the person entered the URL.
 */
function isSentByAnotherSite({ headers }: FastifyRequest): boolean {
  return ['cross-site', 'same-site'].includes(headers['sec-fetch-site'] ?? 'none');
}

/**
 * assertOpened rejects a message from a page that sends requests in the background, because the page could exhaust the rate limit of its visitor's network.
 * Browsers that send Sec-Fetch-Dest open messages as documents. Providers also open logout messages in frames.
 *
 * @throws Problem 403 `auth.cross-site`
 */
export function assertOpened({ headers }: FastifyRequest, inFrame?: 'iframe'): void {
  const destination = headers['sec-fetch-dest'] ?? 'document';
  if (destination === 'document' || destination === inFrame) return;
  throw new Problem('forbidden', 'auth.cross-site', 'A sign-in or logout message must be opened as a page.');
}
