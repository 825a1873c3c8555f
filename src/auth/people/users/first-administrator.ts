import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RightsLedger } from '../../../audit/history/rights-ledger.js';
import { Config } from '../../../platform/config/config.js';
import { Problem } from '../../../platform/errors/problem.js';
import { UsersService } from '../../model/users.service.js';
import { AdministratorWatch } from './administrator-watch.js';

/**
 * FirstAdministrator creates an administrator from SVC_ADMIN_EMAIL if the service has no users. At startup, FirstAdministrator warns if no administrator can
 * sign in.
 */
@Injectable()
export class FirstAdministrator implements OnApplicationBootstrap {
  private readonly logger = new Logger(FirstAdministrator.name);

  constructor(
    private readonly config: Config,
    private readonly users: UsersService,
    private readonly administrators: AdministratorWatch,
    private readonly ledger: RightsLedger,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.createFirst();
    const { status, detail } = await this.administrators.read();
    if (status !== 'UP') this.logger.warn(detail);
  }

  /**
   * Reports whether the audit log records an account. If the HSM does not respond, the unverified entries in the database are used. Returns true if the log is
   * damaged.
   */
  private async hadUsers(): Promise<boolean> {
    try {
      return (await this.ledger.latest()).people.size > 0;
    } catch (error) {
      if (!(error instanceof Problem) || error.code.startsWith('audit-log.')) return true;
      return this.users.isLogged();
    }
  }

  private async createFirst(): Promise<void> {
    const { adminEmail: email, adminPassword: password } = this.config;
    if (email === '' || password === '' || !(await this.users.isEmpty())) return;
    if (await this.hadUsers()) {
      this.logger.error(
        'The first administrator was not created: the database has no users, but the audit log contains user accounts, so their rows were deleted outside the service. Restore the rows, or run "sealwright-admin user create ADDRESS --role admin".',
      );
      return;
    }
    const actor = { kind: 'system', id: 'start', name: 'start' } as const;
    if ((await this.users.create(actor, { email, password, roles: ['admin'] }, 'start')) !== undefined) {
      this.logger.log('created the first administrator');
    }
  }
}
