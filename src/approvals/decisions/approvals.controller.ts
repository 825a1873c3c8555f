import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, SignedIn, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { answerEvents } from '../../platform/http/event-stream.js';
import { IdParam } from '../../platform/http/id-param.js';
import type { IdempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { ApprovalWatch } from './approval-watch.js';
import { ApprovalEndings } from './approval-endings.service.js';
import { ApprovalPage, ApprovalsQuery, ApprovalView, VoteBody, ApprovalWaitQuery } from './approvals.dto.js';
import { ApprovalsReader } from './approvals.reader.js';
import { VotingService } from './voting.service.js';

const EVENT_EXAMPLE = 'event: status\nid: APPROVED 0 2\ndata: {"status":"APPROVED"}\n\n';

@ApiTags('Approvals')
@Controller('api/v1/approvals')
export class ApprovalsController {
  constructor(
    private readonly reader: ApprovalsReader,
    private readonly voting: VotingService,
    private readonly endings: ApprovalEndings,
    private readonly watch: ApprovalWatch,
  ) {}

  /** Lists approvals that concern you, newest first. */
  @Get()
  @Needs('approvals:read')
  async listApprovals(@TheCaller() caller: Caller, @Query() query: ApprovalsQuery): Promise<ApprovalPage> {
    return ApprovalPage.of(await this.reader.list(caller, query));
  }

  /** Tells of an approval as server-sent events: as it is, then each vote and change, until it is decided. */
  @Get(':id/events')
  @Needs('approvals:read')
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    schema: { type: 'string', example: EVENT_EXAMPLE },
    description: 'Events with the approval as data',
  })
  async followApproval(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const read = () => this.reader.follow(caller, id, (approval) => ApprovalView.of(approval));
    await answerEvents(reply, this.watch.rows, read);
  }

  /** Shows an approval: what is to be approved, by whom, and who has voted; with `wait`, as soon as it is decided. */
  @Get(':id')
  @Needs('approvals:read')
  async getApproval(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: ApprovalWaitQuery,
  ): Promise<ApprovalView> {
    return ApprovalView.of(await this.reader.find(caller, id, wait));
  }

  /** Says yes. For people who are members of the group that is asked, and who did not ask themselves. */
  @Post(':id/approve')
  @HttpCode(200)
  @Needs('approvals:approve')
  @Fresh()
  async approve(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: VoteBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ApprovalView> {
    await this.voting.vote(caller, id, body.toBallot('APPROVE'), use);
    return ApprovalView.of(await this.reader.find(caller, id));
  }

  /** Says no. */
  @Post(':id/reject')
  @HttpCode(200)
  @Needs('approvals:approve')
  @Fresh()
  async reject(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: VoteBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ApprovalView> {
    await this.voting.vote(caller, id, body.toBallot('REJECT'), use);
    return ApprovalView.of(await this.reader.find(caller, id));
  }

  /** Withdraws a pending request of yours. With `approvals:write` and `audit:read`, you can withdraw any request. */
  @Post(':id/withdraw')
  @HttpCode(200)
  @SignedIn()
  async withdraw(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ApprovalView> {
    await this.endings.withdraw(caller, id);
    return ApprovalView.of(await this.reader.find(caller, id));
  }
}
