import { Logger } from '@nestjs/common';

/** Logs what is wrong with a queue, once: while Redis is away, every attempt to reconnect fails in the same words. */
export class QueueTrouble {
  private readonly logger: Logger;
  private last = '';

  /** `of` is the name of who hears the queue. */
  constructor(of: string) {
    this.logger = new Logger(of);
  }

  hear({ message }: Error): void {
    if (message === this.last) return;
    this.last = message;
    this.logger.warn(`the queue has trouble: ${message}`);
  }
}
