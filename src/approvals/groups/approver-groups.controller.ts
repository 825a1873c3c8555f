import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { ApproverGroupBody, ApproverGroupPage, ApproverGroupView } from './approver-groups.dto.js';
import { ApproverGroupsService } from './approver-groups.service.js';

@ApiTags('Approvals')
@UseInterceptors(VersionInterceptor)
@Controller('api/v1/approver-groups')
export class ApproverGroupsController {
  constructor(private readonly groups: ApproverGroupsService) {}

  /** Creates an approver group. */
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

  /** Lists approver groups, newest first. */
  @Get()
  @Needs('approvals:read')
  async listApproverGroups(@Query() query: PageQuery): Promise<ApproverGroupPage> {
    return ApproverGroupPage.of(await this.groups.list(query));
  }

  /** Shows an approver group, with its ETag. */
  @Get(':id')
  @Needs('approvals:read')
  async getApproverGroup(@Param() { id }: IdParam): Promise<ApproverGroupView> {
    const group = await this.groups.read(id);
    return ApproverGroupView.of(group);
  }

  /** Replaces an approver group. Votes that were cast stay; who is a member is looked at with the next vote. */
  @Put(':id')
  @Needs('approvals:write')
  @Fresh()
  async changeApproverGroup(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ApproverGroupBody,
    @ExpectedVersion() version: number,
  ): Promise<ApproverGroupView> {
    const group = await this.groups.change(caller, id, version, body.toOrder());
    return ApproverGroupView.of(group);
  }

  /** Removes an approver group that nothing needs any more. */
  @Delete(':id')
  @HttpCode(204)
  @Needs('approvals:write')
  @Fresh()
  async removeApproverGroup(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.groups.remove(caller, id);
  }
}
