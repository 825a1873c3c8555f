import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Config } from '../../platform/config/config.js';
import { HostCookie } from '../secrets/host-cookie.js';
import type { Redirect } from './sso-order.js';

/**
 * Marks the browser in which a sign-in elsewhere began. Lax: it comes along when the browser returns, and not when another site posts.
 * It is no credential: it only shows that the ticket is in the right hands.
 */
@Injectable()
export class BrowserCookie extends HostCookie {
  constructor(config: Config) {
    super(config.publicUrl, { name: 'sealwright-sso', sameSite: 'Lax', maxAgeSeconds: 660 });
  }

  /** Sends the browser off, marked. */
  async leave(reply: FastifyReply, { url, browser }: Redirect): Promise<void> {
    await reply.header('set-cookie', this.with(browser)).header('cache-control', 'no-store').redirect(url, 302);
  }
}
