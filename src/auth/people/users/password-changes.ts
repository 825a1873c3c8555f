import { changeSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Actor } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { AccountNotices } from '../../model/account-notices.js';
import { assertGoodPassword } from '../../model/password-rules.js';
import { Passwords } from '../../model/passwords.js';
import { User } from '../../model/user.entity.js';

interface ChangeOptions {
  /** ID of the session that is kept. */
  readonly kept?: string | undefined;
  /** Function that runs first in the same transaction. If the function throws, the password is not changed. */
  readonly first?: (tx: EntityManager) => Promise<void>;
}

/** PasswordChanges stores a new password, ends the person's sessions, invalidates all links to set a password, and notifies the person by email. */
@Injectable()
export class PasswordChanges {
  constructor(
    private readonly db: DataSource,
    private readonly passwords: Passwords,
    private readonly sessions: SessionsService,
    private readonly audit: AuditService,
    private readonly notices: AccountNotices,
  ) {}

  async set(by: Actor & { origin: Origin }, user: User, password: string, { kept, first }: ChangeOptions) {
    await assertGoodPassword(password, user.email);
    const passwordHash = await this.passwords.hash(password);
    await this.db.transaction(async (tx) => {
      await first?.(tx);
      const known = { id: user.id, passwordHash: user.passwordHash ?? IsNull() };
      const changed = await changeSealed(tx, User, known, { passwordHash });
      if (changed !== 1)
        throw new Problem(
          'conflict',
          'password.changed-meanwhile',
          'The password was changed by another request in the meantime. Sign in with the new password.',
        );
      await this.audit.appendBy(tx, by, { action: 'user.password-changed', target: { kind: 'user', id: user.id } });
      await this.sessions.endAllIn(tx, by, { userId: user.id, because: 'password-changed', kept });
      await this.notices.accountChanged(tx, user.email, 'Your password was changed', by.origin);
    });
  }
}
