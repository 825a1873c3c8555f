import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import type { User } from '../model/user.entity.js';
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
   * An earlier row of the account, put back with its seal, lists none of the factors that were added since. A process that has not read the later row compares
   * it with the part of the audit log that it has read. It reads the rest only if that part has a factor, so that a sign-in does not need the HSM.
   */
  private async assertNoneLogged(userId: string): Promise<void> {
    if (this.ledger.known()?.hasFactor(userId) !== true) return;
    if ((await this.ledger.latest()).hasFactor(userId)) throw factorsChanged();
  }
}
