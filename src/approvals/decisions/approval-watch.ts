import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RowWatch } from '../../platform/database/row-watch.js';
import { EventBus } from '../../platform/events/events.js';
import type { Approval } from '../model/approval.entity.js';

/** ApprovalWatch watches approvals on behalf of waiting callers. */
@Injectable()
export class ApprovalWatch implements OnModuleInit, BeforeApplicationShutdown {
  readonly rows: RowWatch;

  constructor(
    db: DataSource,
    private readonly events: EventBus,
  ) {
    this.rows = new RowWatch((ids) =>
      db.query(
        `SELECT a.id, concat_ws(' ', a.status, a.stage, (SELECT count(*) FROM approval_vote v WHERE v.approval_id = a.id)) AS mark
         FROM approval a WHERE a.id = ANY($1::uuid[])`,
        [ids],
      ),
    );
  }

  onModuleInit(): void {
    this.events.on('approval.changed', ({ approvalId }) => this.rows.hint(approvalId));
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }
}

/** Returns an approval's change marker, which has the same format as `mark` in ApprovalWatch's query. */
export function approvalMarkOf({
  status,
  stage,
  storedVotes,
}: Pick<Approval, 'status' | 'stage'> & { storedVotes: number }): string {
  return `${status} ${stage} ${storedVotes}`;
}
