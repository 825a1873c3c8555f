import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Outbox } from './outbox.js';

type Deliver = (subjects: string[]) => Promise<void>;

const LOOK_EVERY_MS = 500;
const MOST = 500;

interface Loop {
  readonly deliver: Deliver;
  running: Promise<void> | undefined;
  again: boolean;
  failing: boolean;
}

/** Carries outbox messages to their queue: at once after a commit of this process, else at the next look. */
@Injectable()
export class RelayLoop implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RelayLoop.name);
  private readonly loops = new Map<string, Loop>();
  private readonly timer = setInterval(() => this.lookAtAll(), LOOK_EVERY_MS);
  private stopped = false;

  constructor(
    private readonly db: DataSource,
    private readonly outbox: Outbox,
  ) {
    this.outbox.onCommitted((topic) => this.wake(topic));
  }

  /** `deliver` passes a group of subjects to the queue; it rejects within a second or two when the queue is away. */
  serve(topic: string, deliver: Deliver): void {
    this.loops.set(topic, { deliver, running: undefined, again: false, failing: false });
  }

  /** What is left stays in the table for another process or the next start. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    for (const { running } of this.loops.values()) await running;
  }

  private lookAtAll(): void {
    for (const topic of this.loops.keys()) this.wake(topic);
  }

  private wake(topic: string): void {
    const loop = this.loops.get(topic);
    if (loop === undefined || this.stopped) return;
    loop.again = true;
    loop.running ??= this.run(topic, loop).finally(() => {
      loop.running = undefined;
    });
  }

  private async run(topic: string, loop: Loop): Promise<void> {
    while (loop.again && !this.stopped) {
      loop.again = false;
      try {
        const sent = await this.db.transaction((tx) => this.outbox.relay(tx, topic, MOST, loop.deliver));
        loop.again ||= sent === MOST;
        // Without a message to carry nothing is learnt about the queue.
        if (loop.failing && sent > 0) this.logger.log(`messages for ${topic} are carried again`);
        loop.failing &&= sent === 0;
      } catch (error) {
        if (!loop.failing) this.logger.warn(`messages for ${topic} wait: ${String(error)}`);
        loop.failing = true;
        return;
      }
    }
  }
}
