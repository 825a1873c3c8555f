import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../../platform/errors/problem.js';
import { HealthIndicators, type Indication } from '../../../platform/observability/health-indicators.js';
import { User } from '../../model/user.entity.js';
import { administratorsWhoCanSignIn } from './administrators.js';

/** AdministratorWatch reports when no administrator can sign in, because the installation otherwise appears healthy. */
@Injectable()
export class AdministratorWatch {
  constructor(
    private readonly db: DataSource,
    indicators: HealthIndicators,
  ) {
    indicators.add('administrators', () => this.read());
  }

  /** Returns UNKNOWN while there are no users, and DOWN if no administrator can sign in. */
  async read(): Promise<Indication> {
    const found = await administratorsWhoCanSignIn(this.db.manager).catch((error: unknown) => {
      if (error instanceof Problem) return error;
      throw error;
    });
    if (found instanceof Problem) return { status: 'UNKNOWN', detail: found.message };
    const count = found.length;
    if (count > 0)
      return { status: 'UP', detail: `${count} ${count === 1 ? 'administrator' : 'administrators'} can sign in` };
    if (!(await this.db.manager.exists(User))) {
      const detail =
        'There are no users, so nobody can sign in. Run "sealwright-admin user create ADDRESS --role admin", or set SVC_ADMIN_EMAIL and SVC_ADMIN_PASSWORD and restart the service.';
      return { status: 'UNKNOWN', detail };
    }
    const detail =
      'No administrator can sign in. Run "sealwright-admin user create ADDRESS --role admin", or "user grant" and "user reset-password" for an existing account.';
    return { status: 'DOWN', detail };
  }
}
