import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../../platform/config/config.js';
import { originOf } from '../../../platform/http/origin.js';
import { type Redirect, SsoCookie } from '../../browser/cookies.js';
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
   * Redirects the browser to the provider. A browser that another site sends is redirected to the page in `returnTo` instead, where a person who is not
   * signed in finds the sign-in page: no other site can replace somebody's session with one of an account of its own (login CSRF).
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

/** Browsers send Sec-Fetch-Site (Fetch Metadata) over https, and over http to the same machine; `none` is an address that a person entered. */
function isSentByAnotherSite({ headers }: FastifyRequest): boolean {
  return ['cross-site', 'same-site'].includes(headers['sec-fetch-site'] ?? 'none');
}
