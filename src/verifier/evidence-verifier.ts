import { createHash } from 'node:crypto';
import { base64Bytes } from '../platform/encoding/base64.js';
import { faultsOfApproval } from './evidence-approval.js';
import { EvidenceContent } from './evidence-content.js';
import { type EvidenceFile, type EvidenceLeaf, factsIn } from './evidence-file.js';
import { leafHash } from './merkle-hash.js';
import { rootOfInclusion } from './merkle-proof.js';
import { type Checkpoint, openNote } from './signed-note.js';

interface Given {
  /** Public key of the log as it was learnt before (DER); without it the one in the file is taken, which only shows that the file is whole. */
  readonly logKey?: Buffer;
  /** The file that was signed; a large one goes through EvidenceContent piece by piece. */
  readonly content?: Buffer;
}

/**
 * Checks an evidence file without the service. Answers what is wrong with it; nothing means that the log vouches for this signature over
 * this digest by this key, and, when the file is given, that the signature is one of that file.
 */
export function verifyEvidence(evidence: EvidenceFile, { logKey, content }: Given = {}): string[] {
  try {
    const checkpoint = openNote(evidence.log.checkpoint, logKey ?? base64Bytes(evidence.log.publicKey));
    if (checkpoint === undefined) return ['the checkpoint is not signed by the key of the log'];
    return [
      ...evidence.log.leaves.flatMap((leaf) =>
        isUnder(checkpoint, leaf) ? [] : [`leaf ${leaf.index} is not in the log`],
      ),
      ...faultsOfRequest(evidence),
      ...faultsOfApproval(evidence),
      ...(content === undefined ? [] : new EvidenceContent(evidence).update(content).faults()),
    ];
  } catch (error) {
    // Whoever wrote the file may have left out anything.
    return [`it cannot be read as evidence: ${error instanceof Error ? error.message : 'unknown'}`];
  }
}

function isUnder({ size, root }: Checkpoint, { index, data, path }: EvidenceLeaf): boolean {
  const leaf = leafHash(base64Bytes(data));
  return rootOfInclusion({ index, size, leaf, path: path.map((one) => base64Bytes(one)) })?.equals(root) === true;
}

/** The log's own words about the request against what the file says of it. */
function faultsOfRequest(evidence: EvidenceFile): string[] {
  const { request, key } = evidence;
  const facts = factsIn(evidence);
  const about = [request.requestId, request.approvalId];
  const faults = facts.some(({ target }) => !about.includes(target.id)) ? ['the log speaks of another request'] : [];
  const accepted = facts.find(({ action }) => action === 'signing.accepted')?.detail;
  const { digest, algorithm, scheme, format } = request;
  const claimed = { digest, algorithm, scheme, format, key: key.name, keyVersion: key.version };
  // When the key was rotated before the approval, the request was bound to its new version.
  const renewed = facts.findLast(({ action }) => action === 'signing.approval-renewed')?.detail ?? {};
  const logged = { ...accepted, ...('keyVersion' in renewed ? { keyVersion: renewed['keyVersion'] } : {}) };
  for (const [name, value] of Object.entries<unknown>(claimed))
    if (logged[name as keyof typeof logged] !== value)
      faults.push(`the log has another ${name}: ${String(logged[name as keyof typeof logged])}`);
  const signature = base64Bytes(request.signature ?? '');
  const signed = facts.find(({ action }) => action === 'signing.signed')?.detail;
  if (signed?.['signatureSha256'] !== createHash('sha256').update(signature).digest('base64'))
    faults.push('the log has another signature');
  return faults;
}
