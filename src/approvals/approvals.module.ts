import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RightsModule } from '../auth/rights/rights.module.js';
import { ApprovalSubjectsService } from './policies/approval-subject.port.js';
import { ApprovalsService } from './approvals.service.js';
import { ApprovalEndings } from './decisions/approval-endings.service.js';
import { ApprovalRequesters } from './decisions/approval-requesters.js';
import { ApprovalExtension } from './decisions/approval-extension.js';
import { ApprovalMoves } from './decisions/approval-moves.js';
import { ApprovalWatch } from './decisions/approval-watch.js';
import { ApprovalItem, Approval, ApprovalVote, ApprovalNotice } from './model/approval.entity.js';
import { ApprovalsController } from './approvals.controller.js';
import { ApprovalsReader } from './decisions/approvals.reader.js';
import { VotingService } from './decisions/voting.service.js';
import { ApproverGroupMember, ApproverGroup } from './groups/approver-group.entity.js';
import { ApproverGroupsController } from './groups/approver-groups.controller.js';
import { ApproverGroupsService } from './groups/approver-groups.service.js';
import { GroupMembers } from './groups/group-members.js';
import { LoggedApprovals } from './decisions/logged-approvals.js';
import { NoticedApprovals } from './notices/noticed-approvals.js';
import { ApprovalNotices } from './notices/approval-notices.js';
import { ApprovalPoliciesController } from './policies/approval-policies.controller.js';
import { ApprovalPoliciesService } from './policies/approval-policies.service.js';
import { ApprovalPolicyRevision, ApprovalPolicy } from './policies/approval-policy.entity.js';
import { PolicyEvaluation } from './policies/policy-evaluation.js';
import { PolicyTrialService } from './policies/policy-trial.service.js';
import { PolicyChecks } from './policies/policy-checks.js';

/** ApprovalsModule implements N-of-M approval of operations. The subjects of approvals belong to other modules. */
@Module({
  imports: [
    RightsModule,
    TypeOrmModule.forFeature([
      Approval,
      ApprovalItem,
      ApprovalNotice,
      ApprovalPolicy,
      ApprovalPolicyRevision,
      ApprovalVote,
      ApproverGroup,
      ApproverGroupMember,
    ]),
  ],
  controllers: [ApprovalPoliciesController, ApprovalsController, ApproverGroupsController],
  providers: [
    ApprovalEndings,
    ApprovalExtension,
    ApprovalMoves,
    ApprovalPoliciesService,
    ApprovalRequesters,
    ApprovalSubjectsService,
    ApprovalWatch,
    ApprovalsReader,
    ApprovalsService,
    ApproverGroupsService,
    GroupMembers,
    LoggedApprovals,
    PolicyEvaluation,
    PolicyChecks,
    PolicyTrialService,
    VotingService,
  ],
  exports: [ApprovalEndings, ApprovalSubjectsService, ApprovalsService, LoggedApprovals],
})
export class ApprovalsModule {}

/** ApprovalsWorkerModule expires approvals and sends notices in the background. */
@Module({
  imports: [ApprovalsModule],
  providers: [ApprovalNotices, NoticedApprovals],
})
export class ApprovalsWorkerModule {}
