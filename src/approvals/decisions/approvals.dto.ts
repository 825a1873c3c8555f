import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { Moment, OneOf, Optional, QueryInt, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { IsBase64Text } from '../../platform/http/field-rules.js';
import { PageQuery } from '../../platform/http/page.js';
import { APPROVAL_KINDS, type ApprovalKind } from '../policies/approval-subject.port.js';
import { APPROVAL_STATUSES, type ApprovalStatus, type Decision } from '../model/approval.entity.js';
import type { ApprovalWithVotes } from './approvals.reader.js';
import type { Ballot } from './voting.service.js';

const ID = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';

export class VoteBody {
  /** Reason; required by some policies. @example 'Built from the tag, tests are green.' */
  @Optional(Text(1, 512))
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value))
  comment?: string;
  /**
   * The `hash` of the approval as you reviewed it, in base64. The vote is refused if the hash has changed since.
   * @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
   */
  @Optional(Text(44, 44)) @IsBase64Text() hash?: string;

  toBallot(decision: Decision): Ballot {
    const hash = this.hash === undefined ? {} : { hash: fromBase64(this.hash) ?? Buffer.alloc(0) };
    return { decision, comment: this.comment ?? null, ...hash };
  }
}

export class ApprovalsQuery extends PageQuery {
  @Optional(OneOf(APPROVAL_STATUSES)) status?: ApprovalStatus;
  /** `me`: only approvals that are waiting for your vote. */
  @Optional(OneOf(['me'])) waiting?: 'me';
  /** Only approvals whose subject is of this kind. */
  @Optional(OneOf(APPROVAL_KINDS)) subjectKind?: ApprovalKind;
  /** Only approvals of this subject: the subject's ID, the ID of a signing request in a batch, or the `reference` of signing requests. @example build-4711 */
  @Optional(Text(1, 200)) subject?: string;
  /** Only approvals of signing requests for the key with this name or ID. @example release */
  @Optional(Text(1, 64)) key?: string;
  /** Only approvals with this requester, given as `requester.id` or `requester.name`. @example ada@example.com */
  @Optional(Text(1, 320)) requester?: string;
  /** Only approvals requested at or after this time. */
  @Optional(Moment()) from?: Date;
  /** Only approvals requested before this time. */
  @Optional(Moment()) to?: Date;
}

export class ApprovalWaitQuery {
  /** Maximum number of seconds to wait for a decision before responding. */
  @Optional(QueryInt(0, 30)) wait?: number;
}

export class ApprovalSubjectView {
  kind: ApprovalKind;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
}

export class ApprovalPersonView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example ada@example.com */
  name: string;
}

export class ApprovalStageView {
  @ApiProperty({ example: { id: ID, name: 'Release managers' } }) group: ApprovalPersonView;
  /** @example 2 */
  threshold: number;
  /** Number of approving votes in this stage. @example 1 */
  approvals: number;
}

export class ApprovalVoteView {
  by: ApprovalPersonView;
  decision: Decision;
  /** Index of the stage. @example 0 */
  stage: number;
  /** @example 'Built from the tag, tests are green.' */
  comment?: string;
  at: Date;
}

export class ApprovalView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  status: ApprovalStatus;
  subject: ApprovalSubjectView;
  /** One-line summary of the request. @example 'Sign app-1.2.0.tar.gz with the key release' */
  title: string;
  /** The document that the hash covers. For a batch, the document contains `items` with one line per request; lists of approvals omit `items`. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { algorithm: 'sha256', digest: '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=', format: 'raw' },
  })
  shown: Record<string, unknown>;
  /** SHA-256 of `shown` as canonical JSON (members sorted by name, no white space), in base64. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  hash: string;
  /** Names of the policies that require the approval. @example ["Release signing"] */
  policies: string[];
  stages: ApprovalStageView[];
  /** Index of the current stage, or of the last stage if the approval has ended. @example 0 */
  stage: number;
  commentRequired: boolean;
  /** Number of rejections that end the approval. @example 1 */
  rejectThreshold: number;
  /** The requester. `id` identifies the person behind the request, whose vote never counts. */
  requester: ApprovalPersonView;
  votes: ApprovalVoteView[];
  createdAt: Date;
  expiresAt: Date;
  decidedAt?: Date;
  /** ID of the approval that replaced this approval. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  supersededBy?: string;

  static of(approval: ApprovalWithVotes): ApprovalView {
    return viewOf(ApprovalView, present(approval), {
      subject: { kind: approval.subjectKind, id: approval.subjectId },
      shown: JSON.parse(approval.shown) as Record<string, unknown>,
      hash: approval.hash.toString('base64'),
      policies: approval.policies.map(({ name }) => name),
      stages: approval.stages.map(({ groupId, group, threshold }, index) => ({
        group: { id: groupId, name: group },
        threshold,
        approvals: approval.votes.filter((vote) => vote.stage === index && vote.decision === 'APPROVE').length,
      })),
      requester: { id: approval.ownerId, name: approval.requesterName },
      votes: approval.votes.map((vote) => ({
        by: { id: vote.userId, name: vote.userName },
        decision: vote.decision,
        stage: vote.stage,
        comment: vote.comment ?? undefined,
        at: vote.at,
      })),
    });
  }
}

export class ApprovalPage extends PageOf(ApprovalView) {}
