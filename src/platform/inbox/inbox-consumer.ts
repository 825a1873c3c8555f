import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { CoalescingRunner } from '../jobs/coalescing-runner.js';
import type { InboxMessages, InboxTopic } from './inbox-messages.js';
import { Inbox } from './inbox.js';

const LOOK_EVERY_MS = 2000;

/**
 * Brings what was handed over to who takes it, one at a time of each topic: at once after a commit of this process, else at the next look.
 * What waited for a process that died comes again when its lease has ended.
 */
@Injectable()
export class InboxConsumer implements BeforeApplicationShutdown {
  private readonly logger = new Logger(InboxConsumer.name);
  private readonly topics = new Map<InboxTopic, CoalescingRunner>();
  private readonly timer = setInterval(() => this.lookAtAll(), LOOK_EVERY_MS);

  constructor(private readonly inbox: Inbox) {
    inbox.onCommitted((topic) => this.topics.get(topic)?.wake());
  }

  /** `take` may get the same twice. When it rejects, the same comes again after a pause. */
  serve<Topic extends InboxTopic>(topic: Topic, take: (body: InboxMessages[Topic]) => Promise<void>): void {
    this.topics.set(topic, new CoalescingRunner(() => this.next(topic, take)));
  }

  /** What is left stays in the table for another process or the next start. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.topics.values()].map((rounds) => rounds.stop()));
  }

  private lookAtAll(): void {
    for (const rounds of this.topics.values()) rounds.wake();
  }

  private async next<Topic extends InboxTopic>(
    topic: Topic,
    take: (body: InboxMessages[Topic]) => Promise<void>,
  ): Promise<boolean> {
    try {
      const taken = await this.inbox.claim(topic);
      if (taken === undefined) return false;
      const { id, body, attempts } = taken;
      try {
        await take(body);
        await this.inbox.done(id);
      } catch (error) {
        this.logger.error(`${topic} was not taken at attempt ${attempts}: ${String(error)}`);
        await this.inbox.failed(id);
      }
      return true;
    } catch (error) {
      this.logger.warn(`${topic} waits: ${String(error)}`);
      return false;
    }
  }
}
