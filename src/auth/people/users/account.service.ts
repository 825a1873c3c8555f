import { Injectable } from '@nestjs/common';
import { networkOf, type Origin } from '../../../platform/http/origin.js';
import type { Caller } from '../../../access/caller.js';
import { Throttle } from '../../model/throttle.js';
import { PasswordChanges } from './password-changes.js';
import { PasswordCheck } from '../../model/password-check.js';
import { PasswordResetsService } from './password-resets.service.js';
import { canonical } from '../../model/users.service.js';

/** AccountService lets users change and reset their own passwords. */
@Injectable()
export class AccountService {
  constructor(
    private readonly check: PasswordCheck,
    private readonly changes: PasswordChanges,
    private readonly resets: PasswordResetsService,
    private readonly throttle: Throttle,
  ) {}

  /** Sets a new password and ends the person's other sessions. */
  async changePassword(caller: Caller, current: string, next: string): Promise<void> {
    const user = await this.check.userWith(caller.name, current, caller.origin);
    await this.changes.set(caller, user, next, { kept: caller.session?.id });
  }

  /** Sends a reset link if the account exists. The response does not reveal whether the account exists. */
  async forgotPassword(email: string, origin: Origin): Promise<void> {
    const asked = { rule: 'reset mail to person', subject: canonical(email) } as const;
    const network = networkOf(origin.address);
    await this.throttle.assertMayTry([{ rule: 'reset mail from address', subject: network }, asked]);
    this.resets.forgot(email, origin);
  }

  /** Sets the password of the user to whom the link was sent, and ends all of the user's sessions. A second factor is still required to sign in. */
  async resetPassword(token: string, password: string, origin: Origin): Promise<void> {
    const user = await this.resets.userOf(token);
    const by = { kind: 'user', id: user.id, name: user.email, origin } as const;
    await this.changes.set(by, user, password, { first: (tx) => this.resets.use(tx, token, user.id) });
  }
}
