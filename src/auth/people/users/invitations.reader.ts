import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Cursors, type Page } from '../../../platform/http/cursors.js';
import type { PageQuery } from '../../../platform/http/page.js';
import { Invitation } from './invitation.entity.js';

@Injectable()
export class InvitationsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  /** Returns open invitations, newest first. */
  listOpen(page: PageQuery): Promise<Page<Invitation>> {
    const open = this.db
      .createQueryBuilder(Invitation, 'invitation')
      .where('invitation.acceptedAt IS NULL')
      .andWhere('invitation.revokedAt IS NULL')
      .andWhere('invitation.expiresAt > now()');
    return this.cursors.newest('invitations', open, page);
  }
}
