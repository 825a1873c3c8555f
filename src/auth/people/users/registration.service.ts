import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/config.js';
import { networkOf, type Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Throttle } from '../../model/throttle.js';
import { InvitationRights } from './invitation-rights.js';
import { assertGoodPassword } from '../../model/password-rules.js';
import type { User } from '../../model/user.entity.js';
import { UsersService } from '../../model/users.service.js';

export interface Newcomer {
  readonly email: string;
  readonly password: string;
  /** Token from the invitation link. */
  readonly invitation?: string;
}

/** RegistrationService creates the accounts of users who register themselves. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly config: Config,
    private readonly users: UsersService,
    private readonly invitations: InvitationRights,
    private readonly throttle: Throttle,
  ) {}

  /** Creates an account with the roles of an invitation or, if registration is open, with the role `viewer`. */
  async register({ email, password, invitation }: Newcomer, origin: Origin): Promise<User> {
    await this.throttle.assertMayTry([{ rule: 'registration address', subject: networkOf(origin.address) }]);
    if (invitation === undefined && !this.config.isRegistrationOpen) {
      throw new Problem(
        'forbidden',
        'registration.closed',
        'Registration requires an invitation. Ask an administrator for one.',
      );
    }
    await assertGoodPassword(password, email);
    const actor = { kind: 'anonymous', id: '', name: '' } as const;
    const order = { email, password, roles: ['viewer' as const] };
    const user = await this.users.create(actor, order, origin.requestId, async (tx) => {
      if (invitation === undefined) return undefined;
      const roles = await this.invitations.accept(tx, invitation, email);
      if (roles !== undefined) return roles;
      const detail =
        'This invitation is not valid: it is for another email address, has already been used or has expired, or its sender can no longer grant the roles. Request a new one.';
      throw new Problem('refused', 'invitation.unusable', detail);
    });
    if (user !== undefined) return user;
    throw new Problem('conflict', 'user.exists', 'An account with this email address already exists.');
  }
}
