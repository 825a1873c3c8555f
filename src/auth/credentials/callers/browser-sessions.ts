import { changeSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull, Not } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { isId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Caller } from '../../../access/caller.js';
import { newSecret } from '../../model/secret-text.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { Session } from '../../model/session.entity.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { SignedInPerson } from './token-grants.js';

/**
 * BrowserSessions manages sessions whose opaque secret is stored in a cookie. Unlike a token, the cookie cannot be read by scripts. A session that is idle for
 * SVC_BROWSER_IDLE_MINUTES ends (`session-callers.ts`).
 */
@Injectable()
export class BrowserSessions {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly sessions: SessionsService,
    private readonly callers: SessionCallers,
  ) {}

  /** @returns the value of the session cookie */
  async open(person: SignedInPerson, origin: Origin): Promise<string> {
    return this.db.transaction((tx) => this.openIn(tx, person, origin));
  }

  /** Like `open`, inside the caller's transaction. */
  async openIn(tx: EntityManager, person: SignedInPerson, origin: Origin): Promise<string> {
    const { user, way, methods, password, external, authenticatedAt, until, detail } = person;
    const { text, hash } = newSecret('browser');
    const actor = { kind: 'user', id: user.id, name: user.email } as const;
    const lifeSeconds = this.config.browserSessionHours * 3600;
    const since = authenticatedAt === undefined ? {} : { authenticatedAt };
    const grounds = { password };
    const life = { lifeSeconds, until };
    const order = { userId: user.id, way, methods, grounds, ...life, cookieHash: hash, detail, ...since };
    const provided = external === undefined ? {} : { external };
    const session = await this.sessions.open(tx, actor, { ...order, ...provided }, origin);
    return `${session.id}.${text}`;
  }

  async callerOf(cookie: string, origin: Origin): Promise<Caller> {
    const [id = '', secret = ''] = cookie.split('.');
    const caller = isId(id) ? await this.callers.inBrowser(id, secret, origin) : undefined;
    if (caller !== undefined) return caller;
    throw new Problem('unauthenticated', 'auth.bad-session', 'This session has ended. Sign in again.');
  }

  /**
   * Replaces a session's secret after a step-up, which invalidates the earlier secret and prevents session fixation. Returns undefined if the session has ended
   * or is not a browser session.
   */
  async renew(id: string): Promise<string | undefined> {
    const { text, hash } = newSecret('browser');
    const open = { id, endedAt: IsNull(), cookieHash: Not(IsNull()) };
    const changed = await changeSealed(this.db.manager, Session, open, { cookieHash: hash });
    if (changed !== 1) return undefined;
    this.callers.forget(id);
    return `${id}.${text}`;
  }
}
