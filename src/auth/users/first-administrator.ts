import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { UsersService } from '../model/users.service.js';
import { AdministratorWatch } from './administrator-watch.js';

/** Creates the administrator of SVC_ADMIN_EMAIL while there is no user at all. There is no default account. Warns at start if no administrator can sign in. */
@Injectable()
export class FirstAdministrator implements OnApplicationBootstrap {
  private readonly logger = new Logger(FirstAdministrator.name);

  constructor(
    private readonly config: Config,
    private readonly users: UsersService,
    private readonly administrators: AdministratorWatch,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.createFirst();
    const { status, detail } = await this.administrators.read();
    if (status !== 'UP') this.logger.warn(detail);
  }

  private async createFirst(): Promise<void> {
    const { adminEmail: email, adminPassword: password } = this.config;
    if (email === '' || password === '' || !(await this.users.isEmpty())) return;
    const actor = { kind: 'system', id: 'start', name: 'start' } as const;
    if ((await this.users.create(actor, { email, password, roles: ['admin'] }, 'start')) !== undefined) {
      this.logger.log('created the first administrator');
    }
  }
}
