import { createHash } from 'node:crypto';
import type { ShownSubject } from '../../approvals/approvals.service.js';
import { type KeyUseToApprove, signingUse } from '../../approvals/policies/key-use.port.js';
import { isOwnStatement, statementsIn } from '../formats/openpgp.format.js';
import type { Envelope } from './signing-attempt.js';
import type { SigningRequest } from '../signing-request.entity.js';
import { nameInTitle } from '../../platform/text/truncate.js';

/**
 * Returns the document that approvers see for a request and that their approval covers: every column that determines which bytes are sent to the HSM, how the
 * signature is used, and who receives the signature. Before the request is signed, the document is composed again from the row and must be the same.
 *
 * Approvals that wait during an upgrade cover the document of the previous version: leave a new member undefined for requests without it, and remove the member
 * in `formerShown` (approval-cover.ts).
 */
export function shownRequest(request: SigningRequest, envelope: Envelope | undefined): ShownSubject {
  const { digest, algorithm, scheme, format, keyId, keyName, keyVersion, certificateId, metadata, reference } = request;
  return {
    title: `Sign ${nameOf(request)} with the key ${keyName}`,
    shown: {
      action: 'sign',
      requestId: request.id,
      digest: digest.toString('base64'),
      algorithm,
      scheme,
      format,
      key: { id: keyId, name: keyName, version: keyVersion },
      certificateId,
      metadata,
      reference,
      timestamp: envelope?.timestamped ?? false,
      content: hashOf(envelope?.content),
      toBeSigned: hashOf(envelope?.toBeSigned),
      signedDigest: envelope?.signedDigest?.toString('base64') ?? null,
      requester: { person: request.ownerId, caller: request.requestedBy },
      verified: request.identity ?? undefined,
      ...statedBy(request, envelope),
    },
  };
}

/**
 * Returns the statements of an OpenPGP signature, and `composedBy` if the service composed the signed structure. Callers cannot cause `composedBy` to be
 * shown: callers can request only document signatures in OpenPGP, and raw requests of callers contain no bytes to be signed.
 */
function statedBy({ format }: SigningRequest, envelope: Envelope | undefined): Record<string, unknown> {
  const { content = null, toBeSigned = null } = envelope ?? {};
  if (format === 'raw') return toBeSigned === null ? {} : COMPOSED_BY_SERVICE;
  if (format !== 'openpgp' || content === null) return {};
  return { openpgp: statementsIn(content), ...(isOwnStatement(content) ? COMPOSED_BY_SERVICE : {}) };
}

const COMPOSED_BY_SERVICE = { composedBy: 'service' };

type UseColumns = Pick<
  SigningRequest,
  'keyName' | 'algorithm' | 'scheme' | 'format' | 'metadata' | 'requestedBy' | 'ownerId' | 'identity'
>;

/** Returns the facts about a request that policies evaluate. */
export function useOfRequest(request: UseColumns): KeyUseToApprove {
  const { keyName: key, algorithm, scheme, format, metadata, requestedBy, ownerId, identity } = request;
  return signingUse({ key, algorithm, scheme, format, metadata, identity, callers: [requestedBy, ownerId] });
}

const MAX_NAME_LENGTH = 80;

function nameOf({ metadata, reference, algorithm, digest }: SigningRequest): string {
  const { filename } = metadata;
  const plain = typeof filename === 'string' && filename !== '' ? filename : reference;
  return plain === null ? `${algorithm} ${digest.toString('hex').slice(0, 16)}…` : nameInTitle(plain, MAX_NAME_LENGTH);
}

/** Returns the SHA-256, base64. */
function hashOf(bytes: Buffer | null | undefined): string | null {
  return bytes === null || bytes === undefined ? null : createHash('sha256').update(bytes).digest('base64');
}
