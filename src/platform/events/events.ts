import { Injectable, Logger } from '@nestjs/common';
import { EventEmitter } from 'node:events';

/**
 * Events by name, by which modules react to each other without importing each other.
 * Events live in one process and can be lost in a crash, so a listener's first act is a row or a hint,
 * and whatever must happen is found again by something that reads rows.
 */
export interface Events {
  /** A signing request reached SIGNED or FAILED in this process. */
  'signing.settled': { requestId: string };
  /** The approvers of a signing request decided in this process. */
  'signing.moved': { requestId: string };
  /** An approval got a vote or was decided in this process. */
  'approval.changed': { approvalId: string };
  /** A row that grants something does not match its seal, and was refused. `key`: its primary key. */
  'row.not-sealed': { table: string; key: string };
  /** The database has objects that the migrations did not make, as `kind name`. */
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

  /** Returns the function that stops listening. A listener that throws is logged and harms nobody else. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const guarded = (event: Events[Name]) => {
      try {
        listener(event);
      } catch (error) {
        this.logger.error(`a listener of ${name} failed: ${String(error)}`);
      }
    };
    this.emitter.on(name, guarded);
    return () => this.emitter.off(name, guarded);
  }
}
