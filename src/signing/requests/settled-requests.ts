import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventBus } from '../../platform/events/events.js';

const LOOK_EVERY_MS = 200;

/**
 * Lets callers wait until a request is final. What this process settles is known at once; for the rest one query
 * per look covers everybody who waits, however many they are.
 */
@Injectable()
export class SettledRequests implements OnModuleInit, BeforeApplicationShutdown {
  private readonly waiting = new Map<string, Set<() => void>>();
  private timer: NodeJS.Timeout | undefined;
  private stopping = false;

  constructor(
    private readonly db: DataSource,
    private readonly events: EventBus,
  ) {}

  onModuleInit(): void {
    this.events.on('signing.settled', ({ requestId }) => this.wake(requestId));
  }

  /** Resolves when the request is final, or after `seconds`. */
  async wait(requestId: string, seconds: number): Promise<void> {
    if (this.stopping) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = this.waiting.get(requestId) ?? new Set();
    this.waiting.set(requestId, waiters.add(resolve));
    const deadline = setTimeout(resolve, seconds * 1000);
    this.timer ??= setTimeout(() => void this.look(), LOOK_EVERY_MS);
    await promise;
    clearTimeout(deadline);
    waiters.delete(resolve);
    if (waiters.size === 0) this.waiting.delete(requestId);
  }

  /** At a stop nobody is kept waiting: they get the state as it is, before the server waits for the last answers. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    clearTimeout(this.timer);
    for (const id of this.waiting.keys()) this.wake(id);
  }

  private wake(requestId: string): void {
    for (const resolve of this.waiting.get(requestId) ?? []) resolve();
  }

  private async look(): Promise<void> {
    try {
      const rows: { id: string }[] = await this.db.query(
        `SELECT id FROM signing_request WHERE id = ANY($1::uuid[]) AND finished_at IS NOT NULL`,
        [[...this.waiting.keys()]],
      );
      for (const { id } of rows) this.wake(id);
    } catch {
      // A look that failed is made up for by the next one; callers have their own deadline.
    } finally {
      this.timer = this.waiting.size > 0 ? setTimeout(() => void this.look(), LOOK_EVERY_MS) : undefined;
    }
  }
}
