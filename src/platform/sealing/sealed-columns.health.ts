import { Injectable } from '@nestjs/common';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { SealedColumns } from './sealed-columns.js';

/** Opening costs a call to the HSM for each row. */
const CACHE_MS = 30_000;

/** Whether stored secrets open: after a SVC_JWT_SECRET was lost, or with the token of another installation, they do not. */
@Injectable()
export class SealedColumnsHealth {
  private asked = -Infinity;
  private answer: Promise<Indication> = Promise.resolve({ status: 'UNKNOWN', detail: 'not asked yet' });

  constructor(
    private readonly columns: SealedColumns,
    indicators: HealthIndicators,
  ) {
    indicators.add('secrets', () => {
      if (performance.now() - this.asked > CACHE_MS) {
        this.asked = performance.now();
        this.answer = this.read();
        // Trouble of the HSM has an indicator of its own, and is asked again at the next look.
        this.answer.catch(() => (this.asked = -Infinity));
      }
      return this.answer;
    });
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
