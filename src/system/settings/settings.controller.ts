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

  /** Shows the settings in force, without secrets. */
  @Get()
  @Needs('settings:read')
  getSettings(): SettingsView {
    return SettingsView.of(this.config);
  }

  /** Lists the processes of the service that were seen within the last day, with version and clock, the newest sign of life first. */
  @Get('instances')
  @Needs('settings:read')
  async listInstances(): Promise<InstanceList> {
    return { items: (await this.instances.list()).map((instance) => InstanceView.of(instance)) };
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
