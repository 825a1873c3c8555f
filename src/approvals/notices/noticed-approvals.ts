import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { LoggedApprovals } from '../decisions/logged-approvals.js';
import { Approval } from '../model/approval.entity.js';

/** NoticedApprovals reads approvals for notices, with the facts from the audit log, and links to the page where approvers decide. */
@Injectable()
export class NoticedApprovals {
  constructor(
    private readonly config: Config,
    private readonly logged: LoggedApprovals,
  ) {}

  async find(tx: EntityManager, id: string): Promise<Approval> {
    const row = await tx.findOneByOrFail(Approval, { id });
    const [approval = row] = await this.logged.shownAs(tx, [row], new Map([[id, row.hash.toString('base64')]]));
    return approval;
  }

  linkTo({ id }: Approval): string {
    return `${this.config.publicUrl}/approvals/${id}`;
  }
}
