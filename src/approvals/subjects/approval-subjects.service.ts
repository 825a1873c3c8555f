import { Injectable } from '@nestjs/common';
import type { ApprovalKind, ApprovalSubject } from './approval-subject.port.js';

/** Which module answers for which kind of subject. */
@Injectable()
export class ApprovalSubjectsService {
  private readonly subjects = new Map<ApprovalKind, ApprovalSubject>();

  register(kind: ApprovalKind, subject: ApprovalSubject): void {
    this.subjects.set(kind, subject);
  }

  /** Throws when nobody answers for it: then nothing is decided. */
  of(kind: ApprovalKind): ApprovalSubject {
    const subject = this.subjects.get(kind);
    if (subject === undefined) throw new Error(`nobody answers for approvals of the kind ${kind}`);
    return subject;
  }
}
