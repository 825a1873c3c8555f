import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../audit/audit.service.js';
import type { Origin } from '../platform/http/origin.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { UsersService } from './users/users.service.js';

/** How people get in. Further ways (second factors, single sign-on) end in the same token. */
@Injectable()
export class SignInService {
  constructor(
    private readonly db: DataSource,
    private readonly users: UsersService,
    private readonly tokens: AccessTokens,
    private readonly audit: AuditService,
  ) {}

  async withPassword(email: string, password: string, origin: Origin): Promise<{ token: string; expiresIn: number }> {
    const user = await this.users.authenticate(email, password);
    const token = await this.tokens.issue(user);
    const actor = { kind: 'user', id: user.id, name: user.email } as const;
    const target = { kind: 'user', id: user.id };
    await this.db.transaction((tx) =>
      this.audit.append(tx, [
        {
          action: 'auth.signed-in',
          actor,
          target,
          correlation: origin.requestId,
          source: origin.address,
          detail: { way: 'password' },
        },
      ]),
    );
    return { token, expiresIn: this.tokens.lifeSeconds };
  }
}
