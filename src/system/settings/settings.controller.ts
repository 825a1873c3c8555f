import { Body, Controller, Get, HttpCode, Post, Injectable } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { MailTestBody, MailTestView, SettingsView } from './settings.dto.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { MailTrial, type MailTrialResult } from '../../platform/mail/mail-transport.js';

/** Sends test mails to an address that a caller gives, and records each in the audit log. */
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

@ApiTags('Settings')
@Controller('api/settings')
export class SettingsController {
  constructor(
    private readonly config: Config,
    private readonly mail: MailTestService,
  ) {}

  /** Shows the settings in force, without secrets. */
  @Get()
  @Needs('settings:read')
  getSettings(): SettingsView {
    return SettingsView.of(this.config);
  }

  /** Sends a mail at once and tells what the SMTP server said. */
  @Post('mail/test')
  @HttpCode(200)
  @Needs('settings:write')
  @Fresh()
  testMail(@TheCaller() caller: Caller, @Body() { recipient }: MailTestBody): Promise<MailTestView> {
    return this.mail.run(caller, recipient);
  }
}
