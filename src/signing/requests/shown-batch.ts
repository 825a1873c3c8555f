import type { ShownSubject } from '../../approvals/approvals.service.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { GrowingRoot, leafHash } from '../../verifier/merkle-tree.js';
import type { SigningRequest } from '../signing-request.entity.js';
import { shownRequest } from './shown-request.js';
import type { Envelope } from './signing-attempt.js';
import { nameInTitle } from '../../platform/text/truncate.js';

/** A request that is waiting for the approval of its batch. */
export interface BatchedRequest {
  readonly request: SigningRequest;
  readonly envelope: Envelope | undefined;
}

/** A line of the manifest: the text shown to approvers, and the hash of the document that approvers would see for this request alone. */
export interface ManifestLine {
  /** Index of the item in the request, starting at 0. */
  readonly index: number | null;
  readonly requestId: string;
  readonly file: string | null;
  readonly digest: string;
  readonly algorithm: string;
  readonly key: { readonly name: string; readonly version: number };
  /** Leaf hash (RFC 6962) of the canonical JSON, base64. */
  readonly hash: string;
}

const MAX_NAMED = 3;

/**
 * Returns the document that approvers see for many requests together. The hash of the approval covers the whole document. `manifest` is the root of the
 * Merkle tree over the hashes of the lines. With this root, the evidence of one request proves the position of the request without the other requests.
 */
export function shownBatch(batchId: string, batched: readonly BatchedRequest[]): ShownSubject {
  const lines = batched.map(manifestLine);
  const [first] = batched;
  if (first === undefined) throw new Error('the pending batch has no requests');
  const root = rootOf(lines);
  const keys = [...new Set(lines.map(({ key }) => key.name))].join(', ');
  const { ownerId: person, requestedBy: caller, identity } = first.request;
  return {
    title: `Sign ${lines.length} files with the key ${keys}: ${namesOf(lines)}`,
    shown: {
      action: 'sign-batch',
      batchId,
      size: lines.length,
      manifest: root,
      requester: { person, caller },
      // All requests in a batch come from one call and therefore from one caller.
      verified: identity ?? undefined,
      items: lines,
      // The details are not part of the lines, because processes of the previous version compare whole lines.
      details: batched.map(detailOf),
    },
    items: { ids: lines.map(({ requestId }) => requestId), manifest: { size: lines.length, root } },
  };
}

/** Returns the facts about a request that its manifest line omits: the format of its signature, and the metadata from the caller. */
function detailOf({ request, envelope }: BatchedRequest): Record<string, unknown> {
  const { batchIndex: index, format, scheme, certificateId, metadata, reference } = request;
  return { index, format, scheme, certificateId, metadata, reference, timestamp: envelope?.timestamped ?? false };
}

export function manifestLine({ request, envelope }: BatchedRequest): ManifestLine {
  const { batchIndex: index, id: requestId, digest, algorithm, metadata, reference, keyName, keyVersion } = request;
  const { filename } = metadata;
  return {
    index,
    requestId,
    file: typeof filename === 'string' ? filename : reference,
    digest: digest.toString('base64'),
    algorithm,
    key: { name: keyName, version: keyVersion },
    hash: leafHash(canonicalJson(shownRequest(request, envelope).shown)).toString('base64'),
  };
}

/** Returns the lines of a batch document by request ID, each as canonical JSON. */
export function manifestLinesOf(shown: string): ReadonlyMap<string, string> {
  const { items } = JSON.parse(shown) as { items: ManifestLine[] };
  return new Map(items.map((line) => [line.requestId, canonicalJson(line)]));
}

function rootOf(lines: readonly ManifestLine[]): string {
  const tree = new GrowingRoot();
  for (const { hash } of lines) tree.add(Buffer.from(hash, 'base64'));
  return tree.root().toString('base64');
}

function namesOf(lines: readonly ManifestLine[]): string {
  const named = lines.slice(0, MAX_NAMED).map(({ file, digest }) => nameInTitle(file ?? digest, 60));
  return `${named.join(', ')}${lines.length > MAX_NAMED ? ', …' : ''}`;
}
