import { Body, Controller, Get, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { SshKeyAccessView, SshKeyLocationPage, SshKeyPage, SshKeyView } from './ssh-key-views.dto.js';
import { AssignSshKeyBody, EnterSshKeyBody, SshKeysQuery } from './ssh-keys.dto.js';
import { SshKeysReader } from './ssh-keys.reader.js';
import { SshKeysService } from './ssh-keys.service.js';

@ApiTags('SSH keys')
@Controller('v1/keys')
@UseInterceptors(VersionInterceptor)
export class SshKeysController {
  constructor(
    private readonly keys: SshKeysService,
    private readonly reader: SshKeysReader,
  ) {}

  /**
   * List SSH keys
   * @remarks Returns SSH keys, newest first.
   */
  @Get()
  @Needs('keys:read')
  async listSshKeys(@Query() query: SshKeysQuery): Promise<SshKeyPage> {
    return SshKeyPage.of(await this.reader.list(query));
  }

  /**
   * Register an SSH key
   * @remarks Registers a key by its public key. A key that a scan has already found keeps its ID.
   */
  @Post()
  @Needs('hosts:write')
  @Fresh()
  async enterSshKey(
    @TheCaller() caller: Caller,
    @Body() body: EnterSshKeyBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SshKeyView> {
    const { publicKey, owner, custody } = body;
    return SshKeyView.of(await this.reader.get(await this.keys.enter(caller, { publicKey, owner, custody }, use)));
  }

  /**
   * Get an SSH key
   * @remarks Returns an SSH key with its findings and its latest login.
   */
  @Get(':id')
  @Needs('keys:read')
  async getSshKey(@Param() { id }: IdParam): Promise<SshKeyView> {
    return SshKeyView.of(await this.reader.get(id));
  }

  /**
   * Assign an SSH key
   * @remarks Sets the owner of an SSH key.
   */
  @Patch(':id')
  @Needs('hosts:write')
  @Fresh()
  async assignSshKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { owner }: AssignSshKeyBody,
    @ExpectedVersion() version: number,
  ): Promise<SshKeyView> {
    await this.keys.assign(caller, id, version, owner);
    return SshKeyView.of(await this.reader.get(id));
  }

  /**
   * List SSH key locations
   * @remarks Returns the locations of an SSH key, current and past.
   */
  @Get(':id/locations')
  @Needs('keys:read')
  async listSshKeyLocations(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<SshKeyLocationPage> {
    return SshKeyLocationPage.of(await this.reader.locations(id, query));
  }

  /**
   * Get SSH key access
   * @remarks Returns the accounts to which an SSH key can log in.
   */
  @Get(':id/access')
  @Needs('keys:read')
  async getSshKeyAccess(@Param() { id }: IdParam): Promise<SshKeyAccessView> {
    return SshKeyAccessView.of(await this.reader.access(id));
  }
}
