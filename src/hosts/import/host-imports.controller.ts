import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { ClientGone } from '../../platform/http/client-gone.js';
import { TakesJson } from '../../platform/http/json-limits.js';
import { ImportHostsBody, ImportReportView, MAX_CHARACTERS } from './host-import.dto.js';
import { HostImport } from './host-import.service.js';

/** Every character may be escaped. */
const LIMITS = { bytes: 3 * MAX_CHARACTERS, values: 2000 };

@ApiTags('Hosts')
@Controller('v1/hosts/import')
export class HostImportsController {
  constructor(private readonly imports: HostImport) {}

  /** Takes hosts from CSV, known_hosts, ssh_config, a plain list or an Ansible inventory, and reports on each. What is there already stays as it is. */
  @Post()
  @HttpCode(200)
  @Needs('hosts:write')
  @TakesJson(LIMITS)
  async importHosts(
    @TheCaller() caller: Caller,
    @Body() body: ImportHostsBody,
    @ClientGone() gone: AbortSignal,
  ): Promise<ImportReportView> {
    const { format, text, pin = false, onRefusal = 'abort', dryRun = false } = body;
    return ImportReportView.of(await this.imports.run(caller, { format, text, pin, onRefusal, dryRun }, gone));
  }
}
