import {
  Body,
  Controller,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { Repeatable } from '../access/repeatable.js';
import { IdParam } from '../platform/http/id-param.js';
import { TakesJson } from '../platform/http/bodies/json-body.js';
import { ExpectedVersion, VersionInterceptor } from '../platform/http/versions.js';
import type { IdempotentUse } from '../platform/http/idempotency-keys.js';
import { ConnectionTester } from './connections/connection-tester.js';
import { ChangeManyHostsBody, CreateHostBody, HostQuery, UpdateHostBody } from './records/hosts.dto.js';
import { ManyHosts } from './records/many-hosts.service.js';
import { HostRemoval } from './records/host-removal.service.js';
import { HostsReader } from './records/hosts.reader.js';
import { HostsService } from './records/hosts.service.js';
import { ImportHostsBody, ImportReportView, MAX_CHARACTERS } from './import/host-import.dto.js';
import { HostImport } from './import/host-import.service.js';
import { ChangedHostView, ConnectionTestView, HostPage, HostView, ManyHostsView } from './host-views.dto.js';

/** Provides an AbortSignal that fires when the client disconnects before receiving the response. */
const ClientGone = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
});

/** Limits for imports. The body can be longer than the text, because JSON may escape every character. */
const IMPORT_LIMITS = { bytes: 3 * MAX_CHARACTERS, values: 2000, scope: 'hosts:write' };

@ApiTags('Hosts')
@Controller('v1/hosts')
@UseInterceptors(VersionInterceptor)
export class HostsController {
  constructor(
    private readonly hosts: HostsService,
    private readonly reader: HostsReader,
    private readonly removal: HostRemoval,
    private readonly tester: ConnectionTester,
    private readonly many: ManyHosts,
  ) {}

  /**
   * Create a host
   * @remarks Adds a host. Its credential is encrypted and never returned.
   */
  @Post()
  @Needs('hosts:write')
  @Fresh()
  async createHost(
    @TheCaller() caller: Caller,
    @Body() body: CreateHostBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<HostView> {
    return HostView.of(await this.reader.get(await this.hosts.create(caller, body, use)));
  }

  /**
   * Update many hosts
   * @remarks Changes the credential and other settings of up to 200 hosts that have the given labels. Each host is changed separately.
   */
  @Post('change')
  @HttpCode(200)
  @Needs('hosts:write')
  @Fresh()
  async changeManyHosts(@TheCaller() caller: Caller, @Body() body: ChangeManyHostsBody): Promise<ManyHostsView> {
    const { label, change, dryRun = false } = body;
    return { stored: !dryRun, items: await this.many.change(caller, label, { change, dryRun }) };
  }

  /**
   * List hosts
   * @remarks Returns hosts, newest first.
   */
  @Get()
  @Needs('hosts:read')
  async listHosts(@Query() query: HostQuery): Promise<HostPage> {
    return HostPage.of(await this.reader.list(query));
  }

  /**
   * Get a host
   * @remarks Returns a host without its credential.
   */
  @Get(':id')
  @Needs('hosts:read')
  async getHost(@Param() { id }: IdParam): Promise<HostView> {
    return HostView.of(await this.reader.get(id));
  }

  /**
   * Update a host
   * @remarks Omitted members stay unchanged, and null clears a member. The credential is removed if the address changes and the request contains no credential.
   */
  @Patch(':id')
  @Needs('hosts:write')
  @Fresh()
  async updateHost(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: UpdateHostBody,
    @ExpectedVersion() version: number,
  ): Promise<ChangedHostView> {
    const dropped = await this.hosts.update(caller, id, version, body);
    return ChangedHostView.after(await this.reader.get(id), dropped);
  }

  /**
   * Delete a host
   * @remarks Deletes a host and the records of its host keys. The machine itself is not changed.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('hosts:write')
  async deleteHost(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @ExpectedVersion() version: number,
  ): Promise<void> {
    await this.removal.remove(caller, id, version);
  }

  /**
   * Test a host connection
   * @remarks Logs in to the host once and reports each step: address, host key, login and privilege elevation.
   */
  @Post(':id/test-connection')
  @HttpCode(200)
  @Needs('hosts:write')
  async testConnection(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ConnectionTestView> {
    return await this.tester.test(caller, id);
  }
}

@ApiTags('Hosts')
@Controller('v1/hosts/import')
export class HostImportsController {
  constructor(private readonly imports: HostImport) {}

  /**
   * Import hosts
   * @remarks Imports hosts from CSV, known_hosts, ssh_config, a plain list or an Ansible inventory. Returns the outcome for each host. Existing hosts are not
   * changed, except that new host keys from the file are added.
   */
  @Post()
  @HttpCode(200)
  @Needs('hosts:write')
  @Fresh()
  @TakesJson(IMPORT_LIMITS)
  async importHosts(
    @TheCaller() caller: Caller,
    @Body() body: ImportHostsBody,
    @ClientGone() gone: AbortSignal,
  ): Promise<ImportReportView> {
    const { format, text, pin = false, onRefusal = 'abort', dryRun = false, credentials = [] } = body;
    const order = { format, text, pin, onRefusal, dryRun, credentials };
    return ImportReportView.of(await this.imports.run(caller, order, gone));
  }
}
