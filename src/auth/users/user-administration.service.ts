import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Caller } from '../../access/caller.js';
import type { RoleName } from '../../access/scopes.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { lockAdministrators } from './administrators.js';
import { InvitationRights } from './invitation-rights.js';
import { assertMayGrant } from './user-rules.js';
import { User } from '../model/user.entity.js';

export interface UserChange {
  readonly roles?: readonly RoleName[];
  readonly disabled?: boolean;
}

/** What administrators do with other people's accounts. They never see or choose a password. */
@Injectable()
export class UserAdministrationService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly sessions: SessionsService,
    private readonly invitations: InvitationRights,
  ) {}

  async list(query: PageQuery): Promise<Page<User>> {
    return this.cursors.newest('users', this.db.createQueryBuilder(User, 'user'), query);
  }

  async read(id: string): Promise<User> {
    const user = await this.db.manager.findOneBy(User, { id });
    if (user === null) throw missing();
    return user;
  }

  /** Sets roles or disables. A disabled person is out everywhere within five seconds, with all their tokens and keys. */
  async change(caller: Caller, id: string, change: UserChange): Promise<User> {
    return this.db.transaction(async (tx) => {
      // All changes of administrators stand in one line, so that two cannot remove each other.
      const administrators = await lockAdministrators(tx);
      const user = await tx.findOne(User, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (user === null) throw missing();
      assertMayGrant(caller, user.roles);
      assertMayGrant(caller, change.roles ?? []);
      const roles = [...(change.roles ?? user.roles)];
      const disabled = change.disabled ?? user.disabled;
      const staysAdministrator = roles.includes('admin') && !disabled;
      if (administrators.includes(id) && administrators.length === 1 && !staysAdministrator) {
        throw new Problem('conflict', 'user.last-administrator', 'Somebody must stay who can administer the service.');
      }
      await tx.update(User, { id }, { roles, disabled });
      if (disabled && !user.disabled) {
        await this.sessions.endAllIn(tx, caller, { userId: id, because: 'user-disabled' });
      }
      await this.invitations.takeBack(tx, caller, id);
      const detail = { roles: change.roles, disabled: change.disabled };
      const target = { kind: 'user', id };
      await this.audit.appendBy(tx, caller, { action: 'user.changed', target, detail });
      return tx.findOneByOrFail(User, { id });
    });
  }
}

function missing(): Problem {
  return new Problem('missing', 'user.missing', 'There is no such user.');
}
