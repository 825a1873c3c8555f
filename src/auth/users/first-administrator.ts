import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { UsersService } from '../model/users.service.js';

/** Creates the administrator of SVC_ADMIN_EMAIL while there is no user at all. There is no default account. */
@Injectable()
export class FirstAdministrator implements OnApplicationBootstrap {
  private readonly logger = new Logger(FirstAdministrator.name);

  constructor(
    private readonly config: Config,
    private readonly users: UsersService,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { adminEmail: email, adminPassword: password } = this.config;
    if (email === '' || password === '' || !(await this.users.isEmpty())) return;
    const actor = { kind: 'system', id: 'start', name: 'start' } as const;
    if ((await this.users.create(actor, { email, password, roles: ['admin'] }, 'start')) !== undefined) {
      this.logger.log('created the first administrator');
    }
  }
}
