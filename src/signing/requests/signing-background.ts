import { Injectable, Logger } from '@nestjs/common';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import { Background } from '../../platform/work/background.js';
import { DUE_DESTRUCTION, SigningKeyDestroyer } from '../keys/signing-key-destroyer.js';
import { SigningKeysService } from '../keys/signing-keys.service.js';
import { TimestampRepository } from '../timestamping/timestamp.repository.js';
import { ApprovalRenewal, OUTDATED_APPROVAL } from './approval-renewal.js';
import { LEASE_IS_OVER, SIGNAL_IS_OVERDUE, SigningClaims } from './signing-claims.js';
import { SigningExecutor } from './signing-executor.js';

/** SigningRecovery signs requests that no job signal reaches: requests claimed by processes that died, and requests whose signal was lost. */
@Injectable()
export class SigningRecovery {
  private readonly logger = new Logger(SigningRecovery.name);

  constructor(
    private readonly claims: SigningClaims,
    private readonly executor: SigningExecutor,
    private readonly queue: QueueHealth,
  ) {}

  /** Signs waiting requests while Redis is unreachable. In that case, only this job finds the requests, so the job runs often. */
  @Background({ name: 'signing-without-redis', scope: 'process', every: 250 })
  async signWithoutRedis(isStopping: () => boolean): Promise<void> {
    if (!this.queue.reachable) await this.executor.sweep(true, isStopping);
  }

  @Background({ name: 'signing-requests', scope: 'process', due: [LEASE_IS_OVER, SIGNAL_IS_OVERDUE] })
  async recover(isStopping: () => boolean): Promise<void> {
    const reclaimed = await this.claims.reclaim();
    const overdue = await this.executor.sweep(!this.queue.reachable, isStopping);
    if (reclaimed + overdue > 0) this.logger.log('recovered signing requests', { reclaimed, overdue });
  }
}

/** SigningUpkeep runs the scheduled work on keys, on waiting requests and on expired requests. */
@Injectable()
export class SigningUpkeep {
  constructor(
    private readonly claims: SigningClaims,
    private readonly renewal: ApprovalRenewal,
    private readonly destroyer: SigningKeyDestroyer,
    private readonly keys: SigningKeysService,
    private readonly timestamps: TimestampRepository,
  ) {}

  @Background({ name: 'signing-approval-renewal', scope: 'process', due: OUTDATED_APPROVAL })
  renewApprovals(): Promise<void> {
    return this.renewal.renewWaiting();
  }

  @Background({ name: 'signing-key-destruction', scope: 'process', due: DUE_DESTRUCTION })
  destroyKeys(isStopping: () => boolean): Promise<void> {
    return this.destroyer.destroyDue(isStopping);
  }

  @Background({ name: 'signing-expiry', scope: 'process', every: 60_000 })
  async expire(): Promise<void> {
    await this.claims.expire();
    await this.keys.failAbandoned();
    await this.timestamps.giveUp();
  }
}
