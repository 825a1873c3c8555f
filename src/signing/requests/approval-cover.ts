import type { CoveringApproval } from '../../approvals/approvals.service.js';
import { approvalHash, textHash } from '../../approvals/approvals.service.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { type BatchedRequest, manifestLinesOf, manifestLine } from './shown-batch.js';
import { shownRequest } from './shown-request.js';

/** ApprovalCover decides which requests one approval covers. */
export class ApprovalCover<Approval extends CoveringApproval> {
  /** Manifest lines of a batch by request ID; undefined if the hash of the approval does not match its document. */
  private readonly lines: ReadonlyMap<string, string> | undefined;

  constructor(readonly approval: Approval) {
    const { shown, hash } = approval;
    if (shown !== null && textHash(shown).equals(hash)) this.lines = manifestLinesOf(shown);
  }

  /** Reports whether the approval covers the current rows of this request. */
  holds({ request, envelope }: BatchedRequest): boolean {
    const { kind, subjectId, about, hash } = this.approval;
    if (!about.includes(request.id)) return false;
    // Requests that the service composes are exempt from policies and from the key's limits, so these requests have no approval.
    if (request.composed || request.enveloped !== (envelope !== undefined)) return false;
    if (kind === 'signing-request') {
      const { shown } = shownRequest(request, envelope);
      return subjectId === request.id && [shown, formerShown(shown)].some((one) => approvalHash(one).equals(hash));
    }
    const line = canonicalJson(manifestLine({ request, envelope }));
    return subjectId === request.batchId && this.lines?.get(request.id) === line;
  }
}

/** Returns the document as composed by processes of the previous version. */
function formerShown({ openpgp: _openpgp, composedBy: _composedBy, ...shown }: Record<string, unknown>) {
  return shown;
}
