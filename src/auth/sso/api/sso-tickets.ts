import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { BrowserSessions } from '../../credentials/callers/browser-sessions.js';
import { SessionCookie } from '../../credentials/callers/cookies.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { TokenGrants, type Tokens } from '../../credentials/callers/token-grants.js';
import { type Returned, SsoSignInService } from '../sign-in/sso-sign-in.service.js';

/** SsoTickets exchanges a ticket for tokens or for a session in a cookie: once, and only in the browser that started the sign-in. */
@Injectable()
export class SsoTickets {
  constructor(
    private readonly signIn: SsoSignInService,
    private readonly grants: TokenGrants,
    private readonly browsers: BrowserSessions,
    private readonly cookie: SessionCookie,
    private readonly sessions: SessionsService,
  ) {}

  async tokens(ticket: string, browser: string | undefined, origin: Origin): Promise<Tokens> {
    return this.signIn.redeem(ticket, browser, (tx, { person, sessionId }) => {
      if (sessionId === null) return this.grants.forPersonIn(tx, person, origin);
      const detail =
        'This ticket cannot be exchanged for tokens, because it belongs to a browser session. Start the sign-in again.';
      throw new Problem('unauthenticated', 'sso.unknown', detail);
    });
  }

  /**
   * Completes a sign-in in the browser that started it.
   *
   * @returns the URL to redirect to, and the Set-Cookie header if the browser requested a session in a cookie
   */
  async complete(
    ticket: string,
    browser: string | undefined,
    origin: Origin,
  ): Promise<{ cookie: string | undefined; url: string }> {
    const { forBrowser, returnTo } = await this.signIn.arrived(ticket, browser);
    if (!forBrowser) return { cookie: undefined, url: `${returnTo}#ticket=${ticket}` };
    return { cookie: await this.session(ticket, browser, origin), url: returnTo };
  }

  private async session(ticket: string, browser: string | undefined, origin: Origin): Promise<string | undefined> {
    const { person, sessionId, opened } = await this.signIn.redeem(ticket, browser, async (tx, returned) => ({
      ...returned,
      opened: returned.sessionId === null ? await this.browsers.openIn(tx, returned.person, origin) : undefined,
    }));
    const secret = sessionId === null ? opened : await this.steppedUp(sessionId, person, origin);
    return secret === undefined ? undefined : this.cookie.with(secret);
  }

  /** Records a step-up. Returns the new secret of a browser session; undefined for a session with tokens, which remain valid. */
  private async steppedUp(
    id: string,
    { user, methods, authenticatedAt, detail }: Returned['person'],
    origin: Origin,
  ): Promise<string | undefined> {
    const actor = { kind: 'user', id: user.id, name: user.email, origin } as const;
    await this.sessions.renewed(actor, { id, methods, at: authenticatedAt, detail });
    return this.browsers.renew(id);
  }
}
