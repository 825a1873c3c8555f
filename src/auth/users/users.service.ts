import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Actor, AuditService } from '../../audit/audit.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { Remembered } from '../../platform/database/remembered.js';
import type { RoleName } from '../scopes.js';
import { Passwords } from './passwords.js';
import { User } from './user.entity.js';

export interface NewUser {
  readonly email: string;
  readonly password: string;
  readonly roles: RoleName[];
}

/** The people who may sign in. */
@Injectable()
export class UsersService {
  private readonly known = new Remembered<User>((id) => this.db.manager.findOneBy(User, { id }));

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly passwords: Passwords,
  ) {}

  /** Creates a user, or answers undefined when the address is taken. */
  async create(actor: Actor, order: NewUser, correlation: string): Promise<User | undefined> {
    const email = canonical(order.email);
    const passwordHash = await this.passwords.hash(order.password);
    return this.db.transaction(async (tx) => {
      if (await tx.existsBy(User, { email })) return undefined;
      const id = newId();
      await tx.insert(User, { id, email, passwordHash, roles: order.roles });
      const target = { kind: 'user', id };
      await this.audit.append(tx, [
        { action: 'user.created', actor, target, correlation, detail: { roles: order.roles } },
      ]);
      return tx.findOneByOrFail(User, { id });
    });
  }

  async findByEmail(email: string): Promise<User | null> {
    return this.db.manager.findOneBy(User, { email: canonical(email) });
  }

  async isEmpty(): Promise<boolean> {
    return !(await this.db.manager.exists(User));
  }

  /** The user with this password; the same answer after the same time for a wrong password and an unknown address. */
  async authenticate(email: string, password: string): Promise<User> {
    const user = await this.findByEmail(email);
    const matches = await this.passwords.matches(user?.passwordHash, password);
    if (user === null || !matches || user.disabled) {
      throw new Problem('unauthenticated', 'auth.wrong-credentials', 'The e-mail address or the password is wrong.');
    }
    return user;
  }

  /** The user as of at most a few seconds ago. */
  find(id: string): Promise<User | null> {
    return this.known.find(id);
  }

  /** The user as of now. */
  findNow(id: string): Promise<User | null> {
    this.known.forget(id);
    return this.known.find(id);
  }
}

function canonical(email: string): string {
  return email.normalize('NFKC').trim().toLowerCase();
}
