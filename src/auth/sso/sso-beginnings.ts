import { Injectable } from '@nestjs/common';
import { networkOf, type Origin } from '../../platform/http/origin.js';
import { Throttle } from '../throttle/throttle.js';

/** Sign-ins at providers begin without a credential, and each is a row that waits: one network cannot make any number of them. */
@Injectable()
export class SsoBeginnings {
  constructor(private readonly throttle: Throttle) {}

  /** @throws Problem 429 `auth.too-many-attempts` */
  async assertMayBegin({ address }: Origin): Promise<void> {
    await this.throttle.assertMayTry([{ rule: 'sign-in elsewhere from network', subject: networkOf(address) }]);
  }
}
