import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RightsLedger } from '../../../audit/history/rights-ledger.js';
import type { User } from '../../model/user.entity.js';
import { factorsChanged, factorsOf } from './factor-list.js';
import type { SecondFactor } from './second-factor.entity.js';

/** AccountFactors reads the second factors that a sign-in requires. */
@Injectable()
export class AccountFactors {
  constructor(
    private readonly db: DataSource,
    private readonly ledger: RightsLedger,
  ) {}

  /**
   * Returns the confirmed factors of an account.
   *
   * @param account the row whose password was verified
   * @throws Problem `second-factor.changed`
   */
  async of(account: User): Promise<SecondFactor[]> {
    const factors = await factorsOf(this.db.manager, account);
    if (factors.length === 0) await this.assertNoneLogged(account.id);
    return factors;
  }

  /**
   * Rejects an account without factors if the audit log contains a factor for the account. An earlier row of the account, restored with its seal, does not list
   * factors that were added later, and a process that has not read the later row cannot detect the change. The part of the log that this process has already
   * read is checked first. The rest is read only if that part contains a factor, so that a sign-in does not depend on the HSM.
   */
  private async assertNoneLogged(userId: string): Promise<void> {
    if (this.ledger.known()?.hasFactor(userId) !== true) return;
    if ((await this.ledger.latest()).hasFactor(userId)) throw factorsChanged();
  }
}
