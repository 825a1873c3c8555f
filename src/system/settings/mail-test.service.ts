import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { MailTrial, type MailTrialResult } from '../../notifications/mail/mail-transport.js';

/** Sends test emails to an address that the caller specifies, and records each email in the audit log. */
@Injectable()
export class MailTestService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly trial: MailTrial,
  ) {}

  async run(caller: Caller, recipient: string): Promise<MailTrialResult> {
    const result = await this.trial.send(recipient);
    const target = { kind: 'mail', id: recipient };
    const outcome = result.sent ? {} : { outcome: 'failed' as const };
    await this.db.transaction((tx) =>
      this.audit.appendBy(tx, caller, { action: 'mail.tested', target, detail: { ...result }, ...outcome }),
    );
    return result;
  }
}
