import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { Problem } from '../../platform/errors/problem.js';
import type { KeyUseToApprove } from './key-use.port.js';
import { Injectable } from '@nestjs/common';

/** Kinds of subjects that can await approval, individually or as a group. The module that owns a kind registers an ApprovalSubject for it. */
export const APPROVAL_KINDS = ['signing-request', 'signing-batch', 'ssh-rotation', 'ssh-certificate'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** Kinds of subjects that policies name. A batch is evaluated by its parts and approved once. */
export const POLICY_SUBJECTS = ['signing-request', 'ssh-rotation', 'ssh-certificate'] as const satisfies ApprovalKind[];
export type PolicySubject = (typeof POLICY_SUBJECTS)[number];

/** An approval as the module that owns its subject sees it. */
export interface SubjectApproval {
  readonly approvalId: string;
  readonly subjectId: string;
  /** IDs of the parts of a subject that consists of several; empty for others. */
  readonly itemIds: readonly string[];
  /** X-Request-Id of the request. */
  readonly correlation: string;
}

/**
 * The module that owns a subject that is waiting for approval. `released` and `ended` run in the transaction of the vote or expiry, so that decision
 * and consequence commit together; an error that they throw rolls back both.
 */
export interface ApprovalSubject {
  /** Called when the last stage has approved. */
  released(tx: EntityManager, approval: SubjectApproval): Promise<void>;
  /** Called when the approval was rejected, withdrawn, cancelled or has expired; `why` contains the code. */
  ended(tx: EntityManager, approval: SubjectApproval, why: Problem): Promise<void>;
  /**
   * Returns the names that no key of this kind has. It is called with the names that a policy will cover, because a misspelt name would protect
   * nothing. Kinds without policies need not implement it.
   */
  unknownKeys?(tx: EntityManager, names: readonly string[]): Promise<readonly string[]>;
  /** Returns the names of existing keys covered by policies that name `names`. Kinds whose keys keep their names need not implement it. */
  keysCovered?(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Returns the uses of keys of which each past subject consists, in the order of the IDs, for subjects that the caller may see. Kinds for which
   * policies cannot be tested need not implement it.
   */
  usesOf?(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[][]>;
  /** Returns the uses of keys that an approval covers, from the current rows, for the current policies. */
  usesToApprove(tx: EntityManager, approval: SubjectApproval): Promise<KeyUseToApprove[]>;
  /** Returns the reason why the subject could not be requested now, apart from its requester. Kinds without such a reason need not implement it. */
  lostGround?(tx: EntityManager, approval: SubjectApproval): Promise<Problem | undefined>;
  /** Called after either has been committed: a hint to continue immediately, which may be lost. */
  decided(subjectId: string): void;
}

/**
 * SQL for the number of policy changes. An approval demand belongs to one revision. A statement that acts on the demand compares the two, so that no
 * policy committed in the meantime is missed.
 */
export const POLICY_REVISION = '(SELECT revision FROM approval_policy_revision)';

/**
 * Returns SQL that is true if a subject has an approval, its own or a joint one, regardless of the row of the subject.
 *
 * @param subject SQL expression of its ID (uuid)
 */
export function hasApproval(kind: PolicySubject, subject: string): string {
  return `(EXISTS (SELECT FROM approval a WHERE a.subject_kind = '${kind}' AND a.subject_id = ${subject})
    OR EXISTS (SELECT FROM approval_item i WHERE i.subject_id = ${subject}))`;
}

/** policySubjectOf returns the kind under which policies evaluate the parts of an approval. */
export function policySubjectOf(kind: ApprovalKind): PolicySubject {
  return kind === 'signing-batch' ? 'signing-request' : kind;
}

/** The registry of the modules that own the kinds of subjects. */
@Injectable()
export class ApprovalSubjectsService {
  private readonly subjects = new Map<ApprovalKind, ApprovalSubject>();

  register(kind: ApprovalKind, subject: ApprovalSubject): void {
    this.subjects.set(kind, subject);
  }

  /** Throws if no module is registered for the kind; then nothing is decided. */
  of(kind: ApprovalKind): ApprovalSubject {
    const subject = this.subjects.get(kind);
    if (subject === undefined) throw new Error(`no module is registered for approvals of kind "${kind}"`);
    return subject;
  }
}
