import { Injectable } from '@nestjs/common';
import type { ApprovalKind, ApprovalSubject } from './approval-subject.port.js';

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
