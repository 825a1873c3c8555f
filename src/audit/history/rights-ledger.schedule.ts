import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { JobLeases } from '../../platform/jobs/job-lease.repository.js';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { RightsLedger } from './rights-ledger.js';

const LOOK_EVERY_MS = 20_000;
const EVERY_SECONDS = 60;

/** RightsLedgerSchedule keeps the stored snapshot of the ledger near the end of the log, in one process, so that others begin there. */
@Injectable()
export class RightsLedgerSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RightsLedger.name);
  private readonly runs = new SingleFlight((error) => this.logger.warn(`the log was not read: ${String(error)}`));

  constructor(
    private readonly ledger: RightsLedger,
    private readonly leases: JobLeases,
  ) {}

  @Interval(LOOK_EVERY_MS)
  tick(): Promise<void> {
    return this.runs.run(() => this.leases.onceEvery(EVERY_SECONDS, 'rights-ledger', () => this.ledger.keep()));
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.runs.stop();
  }
}
