import { Injectable } from '@nestjs/common';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { RecentValue } from '../time/recent-value.js';
import { SealedColumns } from './sealed-columns.js';

/** Opening costs a call to the HSM for each row. */
const CACHE_MS = 30_000;

/** Whether stored secrets open: after a SVC_JWT_SECRET was lost, or with the token of another installation, they do not. */
@Injectable()
export class SealedColumnsHealth {
  constructor(
    private readonly columns: SealedColumns,
    indicators: HealthIndicators,
  ) {
    // What the HSM did not answer is asked again at the next look: its trouble has an indicator of its own.
    const recent = new RecentValue(CACHE_MS, () => this.read());
    indicators.add('secrets', () => recent.get());
  }

  private async read(): Promise<Indication> {
    const { looked, notOpenable, reason } = await this.columns.sample();
    if (notOpenable === 0) return { status: 'UP', detail: `the newest stored secrets open (${looked} were tried)` };
    const what = `${notOpenable} of the ${looked} newest stored secrets do not open (${reason})`;
    return {
      status: 'DOWN',
      detail: `${what}: add the earlier secret to SVC_JWT_SECRET_PREVIOUS; see docs/operations.md`,
    };
  }
}
