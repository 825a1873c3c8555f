import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import { Problem } from '../../platform/http/problem.js';
import type { Caller } from '../caller.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { assertGoodPassword } from './password-rules.js';
import { PasswordCheck } from './password-check.js';
import { Passwords } from './passwords.js';
import { User } from './user.entity.js';

/** What people do with their own account. */
@Injectable()
export class AccountService {
  constructor(
    private readonly db: DataSource,
    private readonly check: PasswordCheck,
    private readonly passwords: Passwords,
    private readonly sessions: SessionsService,
    private readonly audit: AuditService,
  ) {}

  /** Sets another password. Whoever else was signed in as this person is out. */
  async changePassword(caller: Caller, current: string, next: string): Promise<void> {
    assertOwnAccount(caller);
    const user = await this.check.userWith(caller.name, current, caller.origin);
    assertGoodPassword(next, user.email);
    const passwordHash = await this.passwords.hash(next);
    const target = { kind: 'user', id: user.id };
    const { requestId: correlation, address: source } = caller.origin;
    await this.db.transaction(async (tx) => {
      const known = { id: user.id, passwordHash: user.passwordHash };
      const { affected } = await tx.update(User, known, { passwordHash });
      if (affected !== 1) throw new Problem('conflict', 'password.changed-meanwhile', 'The password was just changed.');
      await this.audit.append(tx, [{ action: 'user.password-changed', actor: caller, target, correlation, source }]);
      const others = { userId: user.id, because: 'password-changed', kept: caller.session?.id };
      await this.sessions.endAllIn(tx, caller, others);
    });
  }
}

/** Only people who signed in at the service itself: an API key or a client's token cannot take an account over. */
export function assertOwnAccount(caller: Caller): void {
  if (caller.kind === 'user' && caller.session?.clientId === null) return;
  throw new Problem('forbidden', 'auth.person-needed', 'This is for people who signed in themselves.');
}
