import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { RoleName, Scope } from '../../../access/scopes.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { assertGoodPassword } from '../../model/password-rules.js';
import type { User } from '../../model/user.entity.js';
import { UsersService } from '../../model/users.service.js';
import { SecondFactorsService } from '../second-factors/second-factors.service.js';
import { PasswordChanges } from './password-changes.js';
import { PasswordResetsService } from './password-resets.service.js';
import { UserAdministrationService } from './user-administration.service.js';

const ALL: ReadonlySet<Scope> = new Set<Scope>(['admin:*']);

/** Returns the machine's operator as recorded in the audit log. */
function operator() {
  const origin = { requestId: newId(), address: '' };
  return { kind: 'system', id: 'operator', name: 'operator (command line)', scopes: ALL, origin } as const;
}

/**
 * OperatorAccounts changes accounts for the machine's operator, who has access to the service configuration. Operators use this service to recover if nobody
 * can sign in.
 */
@Injectable()
export class OperatorAccounts {
  constructor(
    private readonly users: UsersService,
    private readonly administration: UserAdministrationService,
    private readonly passwords: PasswordChanges,
    private readonly resets: PasswordResetsService,
    private readonly factors: SecondFactorsService,
  ) {}

  /**
   * Creates a user. @param password if undefined, a random password is set, and the person chooses a password with `passwordLink`
   *
   * @throws Problem `user.exists`, `password.weak`
   */
  async create(email: string, roles: readonly RoleName[], password: string | undefined): Promise<User> {
    const by = operator();
    if (password !== undefined) await assertGoodPassword(password, email);
    const order = { email, password: password ?? randomBytes(32).toString('base64url'), roles: [...roles] };
    const user = await this.users.create(by, order, by.origin.requestId);
    if (user !== undefined) return user;
    throw new Problem('conflict', 'user.exists', `A user with the email address "${email}" already exists.`);
  }

  /** Sets a password and ends the person's sessions. */
  async setPassword(email: string, password: string): Promise<void> {
    await this.passwords.set(operator(), await this.userWith(email), password, {});
  }

  /** Returns a link with which the person chooses a password. The link is valid once, within an hour, and is not sent by email. */
  async passwordLink(email: string): Promise<string> {
    const { origin, ...actor } = operator();
    return this.resets.issue(actor, await this.userWith(email), origin);
  }

  /** Removes the person's authenticators, passkeys and recovery codes. */
  async resetFactors(email: string): Promise<void> {
    await this.factors.reset(operator(), await this.userWith(email));
  }

  /** Adds roles to an account and enables the account. */
  async grant(email: string, roles: readonly RoleName[]): Promise<User> {
    const { id, roles: held } = await this.userWith(email);
    return this.administration.change(operator(), id, { roles: [...new Set([...held, ...roles])], disabled: false });
  }

  /** Disables an account, even that of the last administrator. */
  async disable(email: string): Promise<User> {
    const { id } = await this.userWith(email);
    return this.administration.change(operator(), id, { disabled: true });
  }

  /** @throws Problem `user.missing` */
  private async userWith(email: string): Promise<User> {
    const user = await this.users.findByEmail(email);
    if (user === null) throw missing('user');
    return user;
  }
}
