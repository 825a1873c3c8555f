import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdOrNameParam } from '../../platform/http/id-param.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { ApproverGroupBody, ApproverGroupPage, ApproverGroupView } from './approver-groups.dto.js';
import { ApproverGroupsService } from './approver-groups.service.js';
import { ApproverGroupName } from './approver-group-name.pipe.js';

@ApiTags('Approvals')
@UseInterceptors(VersionInterceptor)
@Controller('api/v1/approver-groups')
export class ApproverGroupsController {
  constructor(private readonly groups: ApproverGroupsService) {}

  /**
   * Create an approver group
   * @remarks Creates an approver group of users and groups at identity providers.
   */
  @Post()
  @Needs('approvals:write')
  @Fresh()
  async createApproverGroup(
    @TheCaller() caller: Caller,
    @Body() body: ApproverGroupBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ApproverGroupView> {
    const group = await this.groups.create(caller, body.toOrder(), use);
    void reply.header('location', `/api/v1/approver-groups/${group.id}`);
    return ApproverGroupView.of(group);
  }

  /**
   * List approver groups
   * @remarks Returns approver groups, newest first.
   */
  @Get()
  @Needs('approvals:read')
  async listApproverGroups(@Query() query: NamedPageQuery): Promise<ApproverGroupPage> {
    return ApproverGroupPage.of(await this.groups.list(query));
  }

  /**
   * Get an approver group
   * @remarks Returns an approver group with its ETag.
   */
  @Get(':id')
  @Needs('approvals:read')
  async getApproverGroup(@Param(ApproverGroupName) { id }: IdOrNameParam): Promise<ApproverGroupView> {
    const group = await this.groups.read(id);
    return ApproverGroupView.of(group);
  }

  /**
   * Replace an approver group
   * @remarks Replaces the name and the members of an approver group. Existing votes are kept, and membership is checked again with the next vote.
   */
  @Put(':id')
  @Needs('approvals:write')
  @Fresh()
  async changeApproverGroup(
    @TheCaller() caller: Caller,
    @Param(ApproverGroupName) { id }: IdOrNameParam,
    @Body() body: ApproverGroupBody,
    @ExpectedVersion() version: number,
  ): Promise<ApproverGroupView> {
    const group = await this.groups.change(caller, id, version, body.toOrder());
    return ApproverGroupView.of(group);
  }

  /**
   * Delete an approver group
   * @remarks Deletes an approver group, which must not be used by a policy or a pending approval.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('approvals:write')
  @Fresh()
  async removeApproverGroup(
    @TheCaller() caller: Caller,
    @Param(ApproverGroupName) { id }: IdOrNameParam,
  ): Promise<void> {
    await this.groups.remove(caller, id);
  }
}
