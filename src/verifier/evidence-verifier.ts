import { createHash, createPublicKey } from 'node:crypto';
import { base64Bytes } from '../formats/encoding/base64.js';
import { verifiesDigest } from './digest-signature.js';
import { faultsOfApproval, unsaidOfApproval } from './evidence-approval.js';
import { faultsOfBundle } from './evidence-bundle.js';
import { EvidenceContent } from './evidence-content.js';
import {
  type EvidenceFile,
  type EvidenceLeaf,
  type EvidenceVerdict,
  loggedFactsIn,
  type LoggedFact,
} from './evidence-file.js';
import { examineRequest } from './evidence-request.js';
import { faultsOfWorkload, unsaidOfWorkload } from './evidence-workload.js';
import { faultsOfSteps } from './evidence-steps.js';
import { leafHash } from './merkle-tree.js';
import { rootOfInclusion } from './merkle-proof.js';
import { type Checkpoint, openNote } from './signed-note.js';
import { canonicalJson } from '../platform/json/canonical-json.js';

interface Given {
  /** Public key of the log from a trusted source (DER). Without a trusted key, the key in the file is used, which only shows that the file is consistent. */
  readonly logKey?: Buffer;
  /** The signed file. For a large file, use EvidenceContent, which reads the file in chunks. */
  readonly content?: Buffer;
}

/**
 * verifyEvidence verifies an evidence file without the service and returns the faults. If there are no faults, the log confirms the signature, its digest and
 * its key. If the signed file is given, the signature also matches that file.
 */
export function verifyEvidence(evidence: EvidenceFile, given: Given = {}): string[] {
  return examineEvidence(evidence, given).faults;
}

/** Like `verifyEvidence`, but also returns the facts that the log does not confirm. */
export function examineEvidence(evidence: EvidenceFile, { logKey, content }: Given = {}): EvidenceVerdict {
  try {
    const checkpoint = openNote(evidence.log.checkpoint, logKey ?? base64Bytes(evidence.log.publicKey));
    if (checkpoint === undefined) return { faults: ['the checkpoint is not signed with the log key'], unsaid: [] };
    const facts = loggedFactsIn(evidence);
    const logged = loggedOf(facts);
    const accepted = facts.find(({ action }) => action === 'signing.accepted');
    const signed = facts.find(({ action }) => action === 'signing.signed');
    const stated = examineRequest(evidence, { logged, accepted, signed });
    const { origin = checkpoint.origin } = evidence.log;
    const faults = [
      ...(origin === checkpoint.origin ? [] : ['the checkpoint is for a different log']),
      ...[...evidence.log.leaves, ...(evidence.log.signIns ?? [])].flatMap((leaf) =>
        isUnder(checkpoint, leaf) ? [] : [`leaf ${leaf.index} is not in the log`],
      ),
      ...faultsOfRequest(evidence, logged),
      ...stated.faults,
      ...faultsOfKey(evidence, logged),
      ...faultsOfSteps(evidence, facts),
      ...faultsOfApproval(evidence),
      ...faultsOfWorkload(evidence, facts),
      ...faultsOfBundle(evidence, signed),
      ...(content === undefined ? [] : new EvidenceContent(evidence).update(content).faults()),
    ];
    // The log contains only the hash of the signature, so the signature itself is verified with the logged key and digest.
    if (faults.length === 0) faults.push(...faultsOfSignature(evidence, logged));
    return {
      faults,
      unsaid: [...stated.unsaid, ...unsaidOfKey(logged), ...unsaidOfApproval(evidence), ...unsaidOfWorkload(evidence)],
    };
  } catch (error) {
    // The author of the file may have omitted any member.
    const why = error instanceof Error ? error.message : 'unknown';
    return { faults: [`it cannot be parsed as evidence: ${why}`], unsaid: [] };
  }
}

function isUnder({ size, root }: Checkpoint, { index, data, path }: EvidenceLeaf): boolean {
  const leaf = leafHash(base64Bytes(data));
  return rootOfInclusion({ index, size, leaf, path: path.map((one) => base64Bytes(one)) })?.equals(root) === true;
}

/** Returns the request according to the log. If the key was rotated before the approval, the request was bound to the new key version. */
function loggedOf(facts: readonly LoggedFact[]): Record<string, unknown> {
  const accepted = facts.find(({ action }) => action === 'signing.accepted')?.detail;
  const renewed = facts.findLast(
    ({ action, detail }) => action === 'signing.approval-renewed' && 'keyVersion' in detail,
  );
  if (renewed === undefined) return { ...accepted };
  const { keyVersion, publicKeySha256, attributesSha256 } = renewed.detail;
  const isSame = keyVersion === accepted?.['keyVersion'];
  return { ...accepted, keyVersion, ...(isSame ? {} : { publicKeySha256, attributesSha256 }) };
}

/** Compares the request in the file with the log. */
function faultsOfRequest(evidence: EvidenceFile, logged: Record<string, unknown>): string[] {
  const { request, key } = evidence;
  const facts = loggedFactsIn(evidence);
  const about = [request.requestId, request.approvalId];
  const faults = facts.some(({ target }) => !about.includes(target.id))
    ? ['the log entries are for a different request']
    : [];
  const { digest, algorithm, scheme, format } = request;
  const claimed = { digest, algorithm, scheme, format, key: key.name, keyVersion: key.version };
  for (const [name, value] of Object.entries<unknown>(claimed))
    if (logged[name] !== value) faults.push(`the log has a different ${name}: ${String(logged[name])}`);
  const signature = base64Bytes(request.signature ?? '');
  const signed = facts.find(({ action }) => action === 'signing.signed')?.detail;
  if (signed?.['signatureSha256'] !== createHash('sha256').update(signature).digest('base64'))
    faults.push('the log has a different signature');
  return faults;
}

/**
 * Verifies a raw signature with the digest and the key in the file. Other formats are verified with the tool for the format. Recipients verify the structures
 * that the service composes.
 */
function faultsOfSignature({ request, key }: EvidenceFile, logged: Record<string, unknown>): string[] {
  const { algorithm, scheme, format } = request;
  if (format !== 'raw' || logged['composed'] === true) return [];
  const [digest, signature] = [base64Bytes(request.digest), base64Bytes(request.signature ?? '')];
  const holds = verifiesDigest(key.publicKey, { algorithm, scheme, digest, signature });
  return holds === false ? ['the signature does not verify with the key'] : [];
}

/** Facts about the key that are logged with a request: SHA-256, base64. Earlier versions of the service did not log these facts. */
export const KEY_FACTS = ['publicKeySha256', 'attributesSha256'] as const;

const MEANINGS: Record<(typeof KEY_FACTS)[number], string> = {
  publicKeySha256: 'which public key was used',
  attributesSha256: 'the attributes of the private key',
};

/** Compares the key in the file with the log. */
function faultsOfKey({ key }: EvidenceFile, logged: Record<string, unknown>): string[] {
  const found = {
    publicKeySha256: sha256(createPublicKey(key.publicKey).export({ format: 'der', type: 'spki' })),
    attributesSha256: sha256(canonicalJson(key.attributes ?? {})),
  };
  const faults = {
    publicKeySha256: 'the log has a different public key',
    attributesSha256: 'the log has different key attributes',
  };
  return KEY_FACTS.flatMap((name) =>
    logged[name] === undefined || logged[name] === found[name] ? [] : [faults[name]],
  );
}

/** Returns the facts about the key that are only in the file, because an earlier version did not log these facts. */
function unsaidOfKey(logged: Record<string, unknown>): string[] {
  return KEY_FACTS.flatMap((name) => (logged[name] === undefined ? [`the log does not state ${MEANINGS[name]}`] : []));
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('base64');
}
