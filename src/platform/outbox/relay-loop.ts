import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CoalescingRunner } from '../jobs/coalescing-runner.js';
import { Outbox } from './outbox.js';

type Deliver = (subjects: string[]) => Promise<void>;

const LOOK_EVERY_MS = 500;
const BATCH_SIZE = 500;

/** Carries outbox messages to their queue: at once after a commit of this process, else at the next look. */
@Injectable()
export class RelayLoop implements BeforeApplicationShutdown {
  private readonly logger = new Logger(RelayLoop.name);
  private readonly topics = new Map<string, CoalescingRunner>();
  private readonly failing = new Set<string>();
  private readonly timer = setInterval(() => this.lookAtAll(), LOOK_EVERY_MS);

  constructor(
    private readonly db: DataSource,
    private readonly outbox: Outbox,
  ) {
    this.outbox.onCommitted((topic) => this.topics.get(topic)?.wake());
  }

  /** `deliver` passes a group of subjects to the queue; it rejects within a second or two when the queue is away. */
  serve(topic: string, deliver: Deliver): void {
    this.topics.set(topic, new CoalescingRunner(() => this.carry(topic, deliver)));
  }

  /** What is left stays in the table for another process or the next start. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.topics.values()].map((rounds) => rounds.stop()));
  }

  private lookAtAll(): void {
    for (const rounds of this.topics.values()) rounds.wake();
  }

  private async carry(topic: string, deliver: Deliver): Promise<boolean> {
    try {
      const sent = await this.db.transaction((tx) => this.outbox.relay(tx, topic, BATCH_SIZE, deliver));
      // Without a message to carry nothing is learnt about the queue.
      if (sent > 0 && this.failing.delete(topic)) this.logger.log(`messages for ${topic} are carried again`);
      return sent === BATCH_SIZE;
    } catch (error) {
      if (!this.failing.has(topic)) this.logger.warn(`messages for ${topic} wait: ${String(error)}`);
      this.failing.add(topic);
      return false;
    }
  }
}
