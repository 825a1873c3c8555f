import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RowWatch } from '../../platform/database/row-watch.js';
import { EventBus } from '../../platform/events/events.js';
import type { SigningRequest } from '../model/signing-request.entity.js';

/** Watches signing requests on behalf of callers who wait. */
@Injectable()
export class RequestWatch implements OnModuleInit, BeforeApplicationShutdown {
  readonly rows: RowWatch;

  constructor(
    db: DataSource,
    private readonly events: EventBus,
  ) {
    this.rows = new RowWatch((ids) =>
      db.query(
        `SELECT id, concat_ws(' ', status, approval_id) AS mark FROM signing_request WHERE id = ANY($1::uuid[])`,
        [ids],
      ),
    );
  }

  onModuleInit(): void {
    this.events.on('signing.settled', ({ requestId }) => this.rows.hint(requestId));
    this.events.on('signing.moved', ({ requestId }) => this.rows.hint(requestId));
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }
}

/** What the watch looks for: the same as in its query. */
export function signingMarkOf({ status, approvalId }: Pick<SigningRequest, 'status' | 'approvalId'>): string {
  return approvalId === null ? status : `${status} ${approvalId}`;
}
