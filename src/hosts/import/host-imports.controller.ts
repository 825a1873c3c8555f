import { Body, Controller, HttpCode, Post, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { TakesJson } from '../../platform/http/bodies/json-body.js';
import { ImportHostsBody, ImportReportView, MAX_CHARACTERS } from './host-import.dto.js';
import { HostImport } from './host-import.service.js';

/** An AbortSignal that fires when the client closes its connection before it has the answer. */
export const ClientGone = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
});

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
