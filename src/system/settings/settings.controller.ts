import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../auth/access.js';
import { Config } from '../../platform/config/config.js';
import { SettingsView } from './settings.dto.js';

@ApiTags('Settings')
@Controller('api/settings')
export class SettingsController {
  constructor(private readonly config: Config) {}

  /** Shows the settings in force, without secrets. */
  @Get()
  @Needs('settings:read')
  getSettings(): SettingsView {
    return SettingsView.of(this.config);
  }
}
