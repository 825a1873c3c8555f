import type { CoveringApproval } from '../../approvals/approvals.service.js';
import { approvalHash, textHash } from '../../approvals/approvals.service.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { type BatchedRequest, manifestLinesOf, manifestLine } from './shown-batch.js';
import { shownRequest } from './shown-request.js';

/** The requests that one approval covers. */
export class ApprovalCover<Approval extends CoveringApproval> {
  /** The manifest lines of a batch, by request; undefined when the hash of the approval is not that of its document. */
  private readonly lines: ReadonlyMap<string, string> | undefined;

  constructor(readonly approval: Approval) {
    const { shown, hash } = approval;
    if (shown !== null && textHash(shown).equals(hash)) this.lines = manifestLinesOf(shown);
  }

  /** Whether the approval is about this request as its rows are now. */
  holds({ request, envelope }: BatchedRequest): boolean {
    const { kind, subjectId, about, hash } = this.approval;
    if (!about.includes(request.id)) return false;
    // What the service composes is under no policy and under none of the key's own limits: it has no approval.
    if (request.composed || request.enveloped !== (envelope !== undefined)) return false;
    if (kind === 'signing-request')
      return subjectId === request.id && approvalHash(shownRequest(request, envelope).shown).equals(hash);
    const line = canonicalJson(manifestLine({ request, envelope }));
    return subjectId === request.batchId && this.lines?.get(request.id) === line;
  }
}
