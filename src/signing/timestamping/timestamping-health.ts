import { Injectable } from '@nestjs/common';
import { HealthIndicators, type Indication } from '../../platform/health/health-indicators.js';
import { Problem } from '../../platform/errors/problem.js';
import { TimestampKeys } from './timestamp-keys.js';

/** Whether our own timestamp authority can issue. */
@Injectable()
export class TimestampingHealth {
  constructor(
    private readonly keys: TimestampKeys,
    indicators: HealthIndicators,
  ) {
    indicators.add('tsa', () => this.read());
  }

  private async read(): Promise<Indication> {
    try {
      const { key } = await this.keys.current();
      return { status: 'UP', detail: `issues with the key "${key.name}"` };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { status: error.code === 'tsa.none' ? 'UNKNOWN' : 'DOWN', detail: error.message };
    }
  }
}
