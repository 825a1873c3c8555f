import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';

/** Indication is the state of a component. UNKNOWN: the component is not configured, or its state cannot be determined. */
export interface Indication {
  readonly status: 'UP' | 'DOWN' | 'UNKNOWN';
  /** One line for the operator, without secrets. */
  readonly detail: string;
  /** Additional facts, returned as details of the component in `GET /actuator/health`. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

const PATIENCE_MS = 1000;

/**
 * HealthIndicators collects the health indicators that modules register. The database, Redis and the HSM are checked separately. Signing works without the
 * registered components.
 */
@Injectable()
export class HealthIndicators {
  private readonly readers = new Map<string, () => Promise<Indication>>();

  add(name: string, read: () => Promise<Indication>): void {
    this.readers.set(name, read);
  }

  /** Returns all indications by name. An indicator that does not respond within a second is UNKNOWN. */
  async read(): Promise<Record<string, Indication>> {
    const late = { status: 'UNKNOWN', detail: 'no response within 1 second' } as const;
    const asked = [...this.readers].map(async ([name, read]): Promise<[string, Indication]> => {
      const answer = read().catch((error: unknown): Indication => ({ status: 'UNKNOWN', detail: String(error) }));
      return [name, await Promise.race([answer, sleep(PATIENCE_MS, late, { ref: false })])];
    });
    return Object.fromEntries(await Promise.all(asked));
  }
}

const STARTING = 'The service is starting.';
let current = STARTING;

/** startReason returns why this process is not ready yet, in one line for the operator. The management port and the API address return the reason. */
export function startReason(): string {
  return current;
}

/** setStartReason sets the reason; without an argument, the process is just starting. */
export function setStartReason(reason = STARTING): void {
  current = reason;
}
