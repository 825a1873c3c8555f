import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { InstanceRepository } from '../../platform/instances/instance.repository.js';
import { Config } from '../../platform/config/config.js';
import { MailTestService } from './mail-test.service.js';
import { InstanceList, InstanceView, MailTestBody, MailTestView, SettingsView } from './settings.dto.js';

@ApiTags('Settings')
@Controller('api/settings')
export class SettingsController {
  constructor(
    private readonly config: Config,
    private readonly mail: MailTestService,
    private readonly instances: InstanceRepository,
  ) {}

  /**
   * Get settings
   * @remarks Returns the effective settings without secrets.
   */
  @Get()
  @Needs('settings:read')
  getSettings(): SettingsView {
    return SettingsView.of(this.config);
  }

  /**
   * List instances
   * @remarks Returns the processes that sent a heartbeat within the last day, with version and clock offset, most recent first.
   */
  @Get('instances')
  @Needs('settings:read')
  async listInstances(): Promise<InstanceList> {
    return { items: (await this.instances.list()).map((instance) => InstanceView.of(instance)) };
  }

  /**
   * Send a test email
   * @remarks Sends an email immediately and returns the SMTP server's response.
   */
  @Post('mail/test')
  @HttpCode(200)
  @Needs('settings:write')
  @Fresh()
  testMail(@TheCaller() caller: Caller, @Body() { recipient }: MailTestBody): Promise<MailTestView> {
    return this.mail.run(caller, recipient);
  }
}
