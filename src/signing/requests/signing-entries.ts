import { createHash } from 'node:crypto';
import type { NewEntry } from '../../audit/entries/audit.service.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import type { NewSigningRequest, Settlement } from './signing-outcome.js';
import { SIGNING_ACTOR } from '../model/signing-actor.js';

/** What the audit log says of a request that was accepted. */
export function acceptedEntry({
  request,
  envelope,
  status,
  caller,
  approvalId,
  keyFacts,
}: NewSigningRequest): NewEntry {
  const { keyId, keyName, keyVersion, algorithm, scheme, format, composed, metadata } = request;
  return {
    action: 'signing.accepted',
    actor: caller,
    target: { kind: 'signing-request', id: request.id },
    correlation: caller.origin.requestId,
    source: caller.origin.address,
    detail: {
      to: status,
      attempt: status === 'PROCESSING' ? 1 : 0,
      approval: approvalId,
      key: keyName,
      keyVersion,
      algorithm,
      scheme,
      format,
      digest: request.digest.toString('base64'),
      signedDigest: envelope?.signedDigest?.toString('base64'),
      keyId,
      ...keyFacts,
      owner: caller.ownerId,
      metadataSha256: metadataSha256(metadata),
      composed: composed || undefined,
    },
  };
}

/** Of the canonical JSON, base64. */
export function metadataSha256(metadata: Record<string, unknown>): string {
  return createHash('sha256').update(canonicalJson(metadata)).digest('base64');
}

/** … and of an attempt that ended. */
export function settledEntry({ id, attempt, correlation, outcome }: Settlement, moved: boolean): NewEntry {
  const target = { kind: 'signing-request', id };
  const base = { actor: SIGNING_ACTOR, target, correlation };
  const from = 'PROCESSING';
  const signatureSha256 =
    outcome.kind === 'SIGNED' ? createHash('sha256').update(outcome.signature).digest('base64') : undefined;
  if (!moved)
    return {
      ...base,
      action: 'signing.discarded',
      outcome: 'failed',
      detail: { attempt, late: outcome.kind, signatureSha256 },
    };
  switch (outcome.kind) {
    case 'SIGNED':
      return {
        ...base,
        action: 'signing.signed',
        detail: { from, to: 'SIGNED', attempt, signatureSha256 },
        record: outcome.record,
      };
    case 'FAILED':
      return {
        ...base,
        action: 'signing.failed',
        outcome: 'failed',
        detail: { from, to: 'FAILED', attempt, code: outcome.code },
      };
    case 'RELEASED':
      return {
        ...base,
        action: 'signing.released',
        outcome: 'failed',
        detail: { from, to: 'QUEUED', attempt, code: outcome.code },
      };
  }
}
