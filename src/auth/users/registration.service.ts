import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/http/problem.js';
import { Throttle } from '../throttle/throttle.js';
import { assertGoodPassword } from './password-rules.js';
import type { User } from './user.entity.js';
import { UsersService } from './users.service.js';

/** Who may make an account by themselves. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly config: Config,
    private readonly users: UsersService,
    private readonly throttle: Throttle,
  ) {}

  /** Open in dev, where newcomers become viewers; closed in prod. */
  async register(email: string, password: string, origin: Origin): Promise<User> {
    await this.throttle.assertMayTry([{ rule: 'registration address', subject: origin.address }]);
    if (this.config.isProd) {
      throw new Problem('forbidden', 'registration.closed', 'Ask an administrator for an invitation.');
    }
    assertGoodPassword(password, email);
    const actor = { kind: 'anonymous', id: '', name: '' } as const;
    const user = await this.users.create(actor, { email, password, roles: ['viewer'] }, origin.requestId);
    if (user !== undefined) return user;
    throw new Problem('conflict', 'user.exists', 'There is an account with this e-mail address.');
  }
}
