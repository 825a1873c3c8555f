import { Client, type ClientConfig } from 'pg';

/**
 * A connection that may be lost at any time. Its pool and TypeORM listen in turns, and for a moment after it opened nobody does: one that
 * the database ends in the same breath (it is being stopped, or out of memory) would end the process. Whoever asks it
 * next is told, and the pool puts it away.
 */
export class DatabaseClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
