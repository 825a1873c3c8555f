import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, SignedIn, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { Repeatable } from '../access/repeatable.js';
import { answerEvents, EventStream } from '../platform/http/event-stream.js';
import { IdParam } from '../platform/http/id-param.js';
import type { IdempotentUse } from '../platform/http/idempotency-keys.js';
import { ApprovalWatch } from './decisions/approval-watch.js';
import { ApprovalEndings } from './decisions/approval-endings.service.js';
import { ApprovalPage, ApprovalsQuery, ApprovalView, VoteBody, ApprovalWaitQuery } from './decisions/approvals.dto.js';
import { ApprovalsReader } from './decisions/approvals.reader.js';
import { VotingService } from './decisions/voting.service.js';

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

  /**
   * List approvals
   * @remarks Returns the approvals that you requested or may vote on, newest first. With `audit:read`, returns all approvals. Set `subject` to the ID or
   * the reference of a signing request to get the request's approval and its votes.
   */
  @Get()
  @Needs('approvals:read')
  async listApprovals(@TheCaller() caller: Caller, @Query() query: ApprovalsQuery): Promise<ApprovalPage> {
    return ApprovalPage.of(await this.reader.list(caller, query));
  }

  /**
   * Follow an approval
   * @remarks Streams the approval as server-sent events: the current state, then each vote and change, until the approval is decided.
   */
  @Get(':id/events')
  @Needs('approvals:read')
  @EventStream('approval', EVENT_EXAMPLE)
  async followApproval(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const read = () => this.reader.follow(caller, id, (approval) => ApprovalView.of(approval));
    await answerEvents(reply, this.watch.rows, read);
  }

  /**
   * Get an approval
   * @remarks Returns the document to approve, the approvers and the votes. With `wait`, responds as soon as the approval is decided.
   */
  @Get(':id')
  @Needs('approvals:read')
  async getApproval(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: ApprovalWaitQuery,
  ): Promise<ApprovalView> {
    return ApprovalView.of(await this.reader.find(caller, id, wait));
  }

  /**
   * Approve a request
   * @remarks Casts an approving vote. You must be a member of the approver group of the current stage, must not be a requester, and must have completed
   * step-up authentication within the last five minutes.
   */
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

  /**
   * Reject a request
   * @remarks Casts a rejecting vote. The same rules apply as for approval.
   */
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

  /**
   * Withdraw a request
   * @remarks Withdraws one of your pending requests. With `approvals:write` and `audit:read`, you can withdraw any request.
   */
  @Post(':id/withdraw')
  @HttpCode(200)
  @SignedIn()
  async withdraw(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ApprovalView> {
    await this.endings.withdraw(caller, id);
    return ApprovalView.of(await this.reader.find(caller, id));
  }
}
