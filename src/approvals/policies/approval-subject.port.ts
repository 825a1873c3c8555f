import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { Problem } from '../../platform/errors/problem.js';
import type { BindValue } from '../../platform/http/list-filter.js';
import type { KeyUseToApprove } from './key-use.port.js';
import { Injectable } from '@nestjs/common';

/** Kinds of subjects that can await approval, individually or as a group. The module that owns a kind registers an ApprovalSubject for it. */
export const APPROVAL_KINDS = ['signing-request', 'signing-batch', 'ssh-rotation', 'ssh-certificate'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** Kinds of subjects that policies name. The parts of a batch are evaluated individually, and the batch is approved once. */
export const POLICY_SUBJECTS = ['signing-request', 'ssh-rotation', 'ssh-certificate'] as const satisfies ApprovalKind[];
export type PolicySubject = (typeof POLICY_SUBJECTS)[number];

/** The part of an approval that the module that owns its subject needs. */
export interface SubjectApproval {
  readonly approvalId: string;
  readonly subjectId: string;
  /** IDs of the parts of a composite subject; empty for other subjects. */
  readonly itemIds: readonly string[];
  /** X-Request-Id of the request. */
  readonly correlation: string;
}

/**
 * The module that owns a subject that is waiting for approval. `released` and `ended` run in the transaction of the vote or expiry, so that the decision and
 * its effect on the subject are committed together. An error thrown by either method rolls back both.
 */
export interface ApprovalSubject {
  /** Called when the last stage has approved. */
  released(tx: EntityManager, approval: SubjectApproval): Promise<void>;
  /** Called when the approval was rejected, withdrawn or cancelled, or has expired. `why` is the reason. */
  ended(tx: EntityManager, approval: SubjectApproval, why: Problem): Promise<void>;
  /**
   * Returns the given names that do not belong to a key of this kind. Called with the names that a policy will cover, because a policy with a misspelled name
   * would not protect any key. Optional for kinds without policies.
   */
  unknownKeys?(tx: EntityManager, names: readonly string[]): Promise<readonly string[]>;
  /** Returns the names of existing keys covered by policies that list `names`. Optional for kinds whose keys keep their names. */
  keysCovered?(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Returns the uses of keys in each past subject, in the order of the IDs. The caller must be allowed to see the subjects. Optional for kinds whose policies
   * cannot be tested.
   */
  usesOf?(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[][]>;
  /** Returns SQL that selects the IDs of the subjects with a reference. Optional for kinds without references. */
  withReference?(reference: string, bind: BindValue): string;
  /**
   * Returns SQL that selects the IDs of the approvals for uses of a key. Optional for kinds whose approvals cannot be found by key. Throws a Problem
   * if there is no key with this name or ID, or if the caller's credential does not include the key.
   */
  approvalsOfKey?(caller: Caller, nameOrId: string, bind: BindValue): Promise<string>;
  /** Returns the key uses that an approval covers, read from the current rows, for evaluation under the current policies. */
  usesToApprove(tx: EntityManager, approval: SubjectApproval): Promise<KeyUseToApprove[]>;
  /** Returns the reason, other than the requester's rights, why the subject could not be requested now. Optional for kinds without such reasons. */
  lostGround?(tx: EntityManager, approval: SubjectApproval): Promise<Problem | undefined>;
  /** Called after a vote or a state change has been committed. The call is a hint to continue immediately, and may be lost. */
  decided(subjectId: string): void;
}

/**
 * SQL expression for the current revision of the policies. A statement that acts on an approval demand compares this revision with the revision of the demand,
 * so that no policy committed in the meantime is missed.
 */
export const POLICY_REVISION = '(SELECT revision FROM approval_policy_revision)';

/**
 * Returns SQL that is true if a subject has an individual or a joint approval, regardless of the subject's row.
 *
 * @param subject SQL expression for the ID of the subject (uuid)
 */
export function hasApproval(kind: PolicySubject, subject: string): string {
  return `(EXISTS (SELECT FROM approval a WHERE a.subject_kind = '${kind}' AND a.subject_id = ${subject})
    OR EXISTS (SELECT FROM approval_item i WHERE i.subject_id = ${subject}))`;
}

/** policySubjectOf returns the kind under which policies evaluate the parts of an approval. */
export function policySubjectOf(kind: ApprovalKind): PolicySubject {
  return kind === 'signing-batch' ? 'signing-request' : kind;
}

/** ApprovalSubjectsService is the registry of the modules that own the kinds of subjects. */
@Injectable()
export class ApprovalSubjectsService {
  private readonly subjects = new Map<ApprovalKind, ApprovalSubject>();

  register(kind: ApprovalKind, subject: ApprovalSubject): void {
    this.subjects.set(kind, subject);
  }

  /** Returns the module that owns a kind. Throws if no module is registered, so that the approval is not decided. */
  of(kind: ApprovalKind): ApprovalSubject {
    const subject = this.subjects.get(kind);
    if (subject === undefined) throw new Error(`no module is registered for approvals of kind "${kind}"`);
    return subject;
  }
}
