import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { Problem } from '../../platform/errors/problem.js';
import type { KeyUseToApprove } from './key-use.port.js';
import { Injectable } from '@nestjs/common';

/** Kinds of subjects that can wait for approval, alone or many together. The module that owns a kind registers an ApprovalSubject for it. */
export const APPROVAL_KINDS = ['signing-request', 'signing-batch', 'ssh-rotation', 'ssh-certificate'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** Kinds of subjects that policies name. A batch is judged by its parts, and approved once. */
export const POLICY_SUBJECTS = ['signing-request', 'ssh-rotation', 'ssh-certificate'] as const satisfies ApprovalKind[];
export type PolicySubject = (typeof POLICY_SUBJECTS)[number];

/** An approval as the module that owns its subject sees it. */
export interface SubjectApproval {
  readonly approvalId: string;
  readonly subjectId: string;
  /** Ids of the parts of a subject that is many together; empty for others. */
  readonly itemIds: readonly string[];
  /** X-Request-Id of the request. */
  readonly correlation: string;
}

/**
 * The other side of an approval: the module whose work waits. The first two run in the transaction of the vote or of the expiry that
 * decided, so that decision and consequence commit together; what they throw undoes both.
 */
export interface ApprovalSubject {
  /** The last stage has approved. */
  released(tx: EntityManager, approval: SubjectApproval): Promise<void>;
  /** The approval was rejected, withdrawn, cancelled or has expired; `why` has the code. */
  ended(tx: EntityManager, approval: SubjectApproval, why: Problem): Promise<void>;
  /**
   * Returns the names that no key of this kind has. It is called with the names that a policy will cover: a misspelt name would protect nothing. Kinds
   * without policies need not implement it.
   */
  unknownKeys?(tx: EntityManager, names: readonly string[]): Promise<readonly string[]>;
  /** Names of keys that exist now and that policies naming `names` cover. Kinds whose keys keep their names need not answer. */
  keysCovered?(names: readonly string[]): Promise<readonly string[]>;
  /**
   * What policies judge of past subjects, in the order of the ids, as far as the caller may see them: for each the uses of a key that it
   * consists of. Kinds on which no policy is tried need not answer.
   */
  usesOf?(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[][]>;
  /** Returns the uses of keys that an approval covers, from the current rows, for the current policies. */
  usesToApprove(tx: EntityManager, approval: SubjectApproval): Promise<KeyUseToApprove[]>;
  /** Why the subject could not be requested now, other than by its requester. Kinds without such a reason need not answer. */
  lostGround?(tx: EntityManager, approval: SubjectApproval): Promise<Problem | undefined>;
  /** Called after the commit of either: a hint to continue immediately, which may be lost. */
  decided(subjectId: string): void;
}

/**
 * SQL for the number of policy changes. An approval demand belongs to one revision. A statement that lets something pass because of it compares the two, so
 * that no policy committed in the meantime is missed.
 */
export const POLICY_REVISION = '(SELECT revision FROM approval_policy_revision)';

/**
 * Returns SQL that is true if a subject has an approval, alone or as a part of many, regardless of the row of the subject.
 *
 * @param subject SQL expression of its ID (uuid)
 */
export function hasApproval(kind: PolicySubject, subject: string): string {
  return `(EXISTS (SELECT FROM approval a WHERE a.subject_kind = '${kind}' AND a.subject_id = ${subject})
    OR EXISTS (SELECT FROM approval_item i WHERE i.subject_id = ${subject}))`;
}

/** policySubjectOf returns the kind by which policies judge the parts of an approval. */
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

  /** Throws when no module is registered for it: then nothing is decided. */
  of(kind: ApprovalKind): ApprovalSubject {
    const subject = this.subjects.get(kind);
    if (subject === undefined) throw new Error(`no module owns approvals of the kind ${kind}`);
    return subject;
  }
}
