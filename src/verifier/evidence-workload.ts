import { createHash } from 'node:crypto';
import { decodeJws, isSignedByJwk, jwkThumbprint } from '../formats/encoding/json-web-key.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import type { EvidenceFile, LoggedFact } from './evidence-file.js';

const UNREAD = 'the workload identity cannot be parsed';

/**
 * Returns the faults of the requesting workload's identity. The log contains the hash of the identity, which includes the hash of the token and the
 * thumbprint of the issuer's key. The token in the file must match the identity and verify with the key in the file. Auditors must compare the key's
 * thumbprint with the published keys of the issuer.
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
  if (jwkThumbprint(key) !== identity.keyThumbprint)
    faults.push('the key in the file is not the key that verified the token');
  if (token === undefined) return faults;
  const decoded = decodeJws(token);
  if (decoded === undefined) return [...faults, UNREAD];
  if (createHash('sha256').update(decoded.signingInput).digest('base64') !== identity.tokenSha256)
    faults.push('the log has a different workload token');
  if (canonicalJson(decoded.payload) !== canonicalJson(identity.claims))
    faults.push("the token's claims differ from the claims in the file");
  if (!isSignedByJwk(decoded, key)) faults.push("the token is not signed with the issuer's key");
  return faults;
}

/** Returns what the file does not prove, because the file was written while the token was still valid. */
export function unsaidOfWorkload({ workload }: EvidenceFile): string[] {
  if (workload === undefined || workload.token !== undefined) return [];
  return [`that the issuer signed the workload token; evidence fetched after ${workload.tokenFrom} contains the token`];
}
