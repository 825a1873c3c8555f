import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AssetsFound } from '../../platform/handover/handed-over.js';
import { Handovers } from '../../platform/handover/handovers.js';
import { Problem } from '../../platform/http/problem.js';
import { IngestThreads } from './ingest-threads.js';

const TOPIC = 'inventory.assets-found';
const LOOK_EVERY_MS = 2000;

/** Takes in what other modules found, by the same door as what sensors send. */
@Injectable()
export class FoundAssetsIntake implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(FoundAssetsIntake.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  constructor(
    private readonly handovers: Handovers,
    private readonly threads: IngestThreads,
  ) {}

  onApplicationBootstrap(): void {
    this.handovers.onCommitted((topic) => {
      if (topic === TOPIC) this.wake();
    });
    this.timer = setInterval(() => this.wake(), LOOK_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  private wake(): void {
    if (this.stopped) return;
    this.again = true;
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    while (this.again && !this.stopped) {
      this.again = false;
      try {
        for (
          let taken = await this.handovers.take(TOPIC);
          taken !== undefined;
          taken = await this.handovers.take(TOPIC)
        ) {
          await this.intake(taken.id, taken.body, taken.attempts);
          if (this.stopped) return;
        }
      } catch (error) {
        this.logger.warn(`found assets wait: ${error instanceof Error ? error.name : 'unknown'}`);
        return;
      }
    }
  }

  private async intake(
    id: string,
    { reporter, source, complete, assets }: AssetsFound,
    attempts: number,
  ): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify({ source, complete, assets }));
    try {
      const { rejected } = await this.threads.take({
        bytes: bytes.buffer,
        kind: 'json',
        mode: 'strict',
        source,
        password: undefined,
        caller: { kind: 'system', id: reporter, name: reporter, ownerId: reporter },
        requestId: randomUUID(),
        address: '',
        idempotencyKey: undefined,
      });
      if (rejected.length > 0)
        this.logger.error(
          `${rejected.length} assets from ${reporter} were refused: ${rejected[0]?.pointer} ${rejected[0]?.detail}`,
        );
      await this.handovers.done(id);
    } catch (error) {
      // What is refused as a whole would be refused again.
      const refused = error instanceof Problem && (error.kind === 'refused' || error.kind === 'malformed');
      this.logger.error(
        `assets from ${reporter} were not taken in at attempt ${attempts}: ${refused ? error.code : 'failed'}`,
      );
      await (refused ? this.handovers.done(id) : this.handovers.failed(id));
    }
  }
}
