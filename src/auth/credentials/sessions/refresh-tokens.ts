import { consumeSealed, insertSealed, findTrusted } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { newId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { secretHashOf, newSecret } from '../../model/secret-text.js';
import { RefreshToken, Session } from '../../model/session.entity.js';
import { SessionsService } from './sessions.service.js';

/** Time after which an unused refresh token expires, in seconds. */
const IDLE_SECONDS = 14 * 24 * 3600;

export interface Refreshed {
  readonly session: Session;
  readonly refreshToken: string;
}

const ANYBODY = (origin: Origin) => ({ kind: 'anonymous', id: '', name: '', origin }) as const;

/**
 * RefreshTokens issues refresh tokens (RFC 6749 section 6) and rotates them on every use (RFC 9700 section 4.14.2). A second use shows that two parties have
 * the token, but not which party stole it, so the whole session ends.
 */
@Injectable()
export class RefreshTokens {
  constructor(
    private readonly db: DataSource,
    private readonly sessions: SessionsService,
  ) {}

  /** Adds a token to the session's family in the caller's transaction. */
  async issue(tx: EntityManager, session: Session): Promise<string> {
    const { text, hash } = newSecret('refresh');
    const idle = Date.now() + IDLE_SECONDS * 1000;
    const expiresAt = new Date(Math.min(idle, session.expiresAt.getTime()));
    await insertSealed(tx, RefreshToken, { id: newId(), sessionId: session.id, hash, expiresAt });
    return text;
  }

  /** Returns the session of a token, without consuming the token. */
  async peek(text: string): Promise<Session | undefined> {
    const token = await this.db.manager.findOneBy(RefreshToken, { hash: secretHashOf(text) });
    const session = token && (await this.db.manager.findOneBy(Session, { id: token.sessionId }));
    // The seals are not verified, because used tokens and ended sessions have no seal. `rotate` verifies the seals.
    return session ?? undefined;
  }

  /**
   * Consumes a token and returns its successor. Returns undefined if the token is unknown, used or expired, or its session has ended. A token is valid only for
   * the client to which it was issued (RFC 6749 section 6), and a token from a direct sign-in is not valid for any client. If another party presents a token,
   * the token was stolen, and the session ends.
   *
   * @param clientId ID of the authenticated client that presents the token; null if no client authenticated
   */
  async rotate(text: string, clientId: string | null, origin: Origin): Promise<Refreshed | undefined> {
    const hash = secretHashOf(text);
    const shown = await this.peek(text);
    if (shown !== undefined && shown.clientId !== clientId) {
      await this.sessions.endFamily(ANYBODY(origin), shown.id, 'refresh-token-misused');
      return undefined;
    }
    const refreshed = await this.db.transaction(async (tx) => {
      const isOpen =
        'EXISTS (SELECT 1 FROM auth_session s WHERE s.id = t.session_id AND s.ended_at IS NULL AND s.expires_at > now())';
      const where = `t.hash = $1 AND t.used_at IS NULL AND t.expires_at > now() AND ${isOpen}`;
      const [used] = await consumeSealed(tx, RefreshToken, {
        where,
        set: 'used_at = now()',
        values: [hash],
        is: { hash },
      });
      // Repeats the conditions of the statement, because the database is not trusted.
      if (used === undefined || used.expiresAt <= new Date()) return undefined;
      const session = await findTrusted(tx, Session, { id: used.sessionId });
      if (session === null || session.endedAt !== null || session.expiresAt <= new Date()) return undefined;
      if (session.clientId !== clientId) return undefined;
      return { session, refreshToken: await this.issue(tx, session) };
    });
    if (refreshed === undefined) await this.endFamilyOfReused(hash, origin);
    return refreshed;
  }

  private async endFamilyOfReused(hash: Buffer, origin: Origin): Promise<void> {
    const token = await this.db.manager.findOneBy(RefreshToken, { hash });
    if (token === null || token.usedAt === null) return;
    await this.sessions.endFamily(ANYBODY(origin), token.sessionId, 'refresh-token-reused');
  }
}
