import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';

/** UNKNOWN: not set up, or not known now. */
export interface Indication {
  readonly status: 'UP' | 'DOWN' | 'UNKNOWN';
  /** One line for the operator; no secret. */
  readonly detail: string;
  /** Additional facts for the details of the component in `GET /actuator/health`. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

const PATIENCE_MS = 1000;

/** Indicators of health beside the stores; each module adds its own. Signing goes on without any of them. */
@Injectable()
export class HealthIndicators {
  private readonly readers = new Map<string, () => Promise<Indication>>();

  add(name: string, read: () => Promise<Indication>): void {
    this.readers.set(name, read);
  }

  /** Each by its name; one that does not answer within a second is UNKNOWN. */
  async read(): Promise<Record<string, Indication>> {
    const late = { status: 'UNKNOWN', detail: 'no answer within a second' } as const;
    const asked = [...this.readers].map(async ([name, read]): Promise<[string, Indication]> => {
      const answer = read().catch((error: unknown): Indication => ({ status: 'UNKNOWN', detail: String(error) }));
      return [name, await Promise.race([answer, sleep(PATIENCE_MS, late, { ref: false })])];
    });
    return Object.fromEntries(await Promise.all(asked));
  }
}

const STARTING = 'The service is starting.';
let current = STARTING;

/** Why this process does not work yet, in one line for the operator: its management port and the address of its API say it. */
export function startReason(): string {
  return current;
}

/** Without a reason the process is only starting. */
export function setStartReason(reason = STARTING): void {
  current = reason;
}
