import { Injectable, Logger } from '@nestjs/common';
import { EventEmitter } from 'node:events';

/**
 * Events by name. Modules use events to react to each other without importing each other. Events stay within one process and can be lost in a crash. A
 * listener therefore only writes a row or a hint, and a job that reads rows also finds all required work.
 */
export interface Events {
  /** A signing request reached SIGNED or FAILED in this process. */
  'signing.settled': { requestId: string };
  /** The approvers of a signing request decided in this process. */
  'signing.moved': { requestId: string };
  /** An approval received a vote or was decided in this process. */
  'approval.changed': { approvalId: string };
  /** A row that grants rights was rejected because it does not match its seal. `key` is the primary key of the row. */
  'row.not-sealed': { table: string; key: string };
  /** The database contains objects that no migration created, given as `kind name`. */
  'catalogue.changed': { objects: readonly string[] };
}

@Injectable()
export class EventBus {
  private readonly logger = new Logger(EventBus.name);
  private readonly emitter = new EventEmitter();

  constructor() {
    this.emitter.setMaxListeners(0);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    this.emitter.emit(name, event);
  }

  /** Adds a listener and returns a function that removes the listener. Exceptions of a listener are logged and do not affect other listeners. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const guarded = (event: Events[Name]) => {
      try {
        listener(event);
      } catch (error) {
        this.logger.error(`listener of ${name} failed: ${String(error)}`);
      }
    };
    this.emitter.on(name, guarded);
    return () => this.emitter.off(name, guarded);
  }
}
