import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';

/** A busy client calls again well within this time and hears that its connection ends. */
const LINGER_MS = 1000;

/**
 * The first second of a stop. Calls are still answered, each on a connection that ends with its answer, and load balancers
 * are told to look elsewhere; only then does the server hang up. A client that keeps its connection open would otherwise
 * be cut off in the middle of its next call, or keep the stop waiting for it.
 */
@Injectable()
export class Closing implements BeforeApplicationShutdown {
  private listening = false;
  private started = false;

  /** True from the first moment of a stop. */
  get begun(): boolean {
    return this.started;
  }

  /** To be called by who opens HTTP; a process without it has nobody to wait for. */
  serves(): void {
    this.listening = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.started = true;
    if (this.listening) await sleep(LINGER_MS);
  }
}
