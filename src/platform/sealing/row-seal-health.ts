import { Injectable } from '@nestjs/common';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { RowSeals } from './row-seals.js';
import type { ForgedRows } from './row-seal-keeper.js';

/** RowSealHealth reports rows that were rejected because their seal does not match. */
@Injectable()
export class RowSealHealth {
  private found: readonly ForgedRows[] = [];

  constructor(
    private readonly seals: RowSeals,
    indicators: HealthIndicators,
  ) {
    indicators.add('rows', () => Promise.resolve(this.read()));
  }

  /** Stores the result of the last verification of all rows. */
  set(found: readonly ForgedRows[]): void {
    this.found = found;
  }

  private read(): Indication {
    const refused = new Set([...this.seals.refused(), ...this.found.map(detailOf)]);
    if (refused.size === 0) {
      const detail = this.seals.isStrict
        ? 'no credential or right was modified outside the service'
        : 'rows of the previous version are accepted without a seal until the upgrade is complete';
      return { status: 'UP', detail };
    }
    return {
      status: 'DOWN',
      detail: `rows modified outside the service, which are rejected: ${[...refused].join(', ')}; see docs/runbook.md`,
    };
  }
}

export function detailOf({ table, count, keys }: ForgedRows): string {
  return `${table} (${count}: ${keys.slice(0, 3).join(', ')}${count > 3 ? ', …' : ''})`;
}
