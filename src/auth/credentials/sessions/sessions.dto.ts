import { viewOf } from '../../../platform/http/fields/view-of.js';
import type { Session, SignInWay } from '../../model/session.entity.js';

export class SessionView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** How the session was started. @example password */
  way: SignInWay;
  /** Whether this is the session of the current request. */
  current: boolean;
  createdAt: Date;
  /** Time at which the user last authenticated with a password or a second factor. */
  authenticatedAt: Date;
  expiresAt: Date;
  /** IP address from which the session was started. @example 192.0.2.7 */
  address: string;
  /** User agent of the client. @example Mozilla/5.0 */
  agent: string;
  lastUsedAt: Date | null;
  /** @example 192.0.2.17 */
  lastUsedFrom: string | null;

  static of(session: Session, current?: string): SessionView {
    const { id } = session;
    return viewOf(SessionView, session, { current: id === current });
  }
}

export class SessionList {
  items: SessionView[];

  static of(sessions: Session[], current?: string): SessionList {
    return { items: sessions.map((session) => SessionView.of(session, current)) };
  }
}
