import { createHash } from 'node:crypto';
import { decodeJws, isSignedByJwk, jwkThumbprint } from '../formats/encoding/json-web-key.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import type { EvidenceFile, LoggedFact } from './evidence-file.js';

const UNREAD = 'the workload identity cannot be parsed';

/**
 * Returns the faults of the identity of the requesting workload. The log contains its hash. The token in the file must be the logged one, have the
 * shown claims, and be signed with a key that the service accepted as the issuer's. Whether it was must be checked with the known keys of the issuer:
 * the thumbprint is in the log.
 */
export function faultsOfWorkload(
  { workload, request, approval }: EvidenceFile,
  facts: readonly LoggedFact[],
): string[] {
  const accepted = facts.find(({ action, target }) => action === 'signing.accepted' && target.id === request.requestId);
  const logged = accepted?.detail['identitySha256'];
  if (workload === undefined) return logged === undefined ? [] : ['the workload identity is missing'];
  const { identity, token, key } = workload;
  const text = canonicalJson(identity);
  if (logged !== createHash('sha256').update(text).digest('base64'))
    return ['the log has a different workload identity, or none'];
  const shown = approval?.shown['verified'];
  const faults =
    approval === undefined || canonicalJson(shown) === text ? [] : ['the approvers were shown a different identity'];
  if (jwkThumbprint(key) !== identity.keyThumbprint) faults.push('the key is not the one that verified the token');
  if (token === undefined) return faults;
  const decoded = decodeJws(token);
  if (decoded === undefined) return [...faults, UNREAD];
  if (createHash('sha256').update(decoded.signingInput).digest('base64') !== identity.tokenSha256)
    faults.push('the log has a different workload token');
  if (canonicalJson(decoded.payload) !== canonicalJson(identity.claims))
    faults.push('the claims of the token differ from those in the file');
  if (!isSignedByJwk(decoded, key)) faults.push("the token is not signed with the issuer's key");
  return faults;
}

/** Returns what the file does not prove, because it was written while the token was still valid. */
export function unsaidOfWorkload({ workload }: EvidenceFile): string[] {
  if (workload === undefined || workload.token !== undefined) return [];
  return [`that the issuer signed the workload token; evidence fetched after ${workload.tokenFrom} contains the token`];
}
