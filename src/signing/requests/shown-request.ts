import { createHash } from 'node:crypto';
import type { PolicyFacts, ShownSubject } from '../../approvals/approvals.service.js';
import type { Caller } from '../../access/caller.js';
import type { NewSigningRequest } from './signing-outcome.js';
import type { SigningRequest } from '../model/signing-request.entity.js';
import { truncate } from '../../platform/text/truncate.js';

export type Envelope = NonNullable<NewSigningRequest['envelope']>;
export type ShownFields = NewSigningRequest['request'] & Pick<SigningRequest, 'ownerId' | 'requestedBy'>;

/**
 * What approvers are shown of a request, and what their approval covers: every column that decides which bytes the HSM gets, what is
 * made of them, and who gets it. It is put together again from the row when the request is signed, and must then be the same.
 */
export function shownRequest(request: ShownFields, envelope: Envelope | undefined): ShownSubject {
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
    },
  };
}

type FactFields = Pick<ShownFields, 'algorithm' | 'scheme' | 'format' | 'metadata' | 'requestedBy' | 'ownerId'>;

/** What policies may ask about. */
export function policyFactsOf({ request }: NewSigningRequest, { id: requestedBy, ownerId }: Caller): PolicyFacts {
  return factsOfRow({ ...request, requestedBy, ownerId });
}

export function factsOfRow({ algorithm, scheme, format, metadata, requestedBy, ownerId }: FactFields): PolicyFacts {
  const named = Object.entries(metadata).flatMap(([name, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [[`metadata.${name}`, [String(value)]] as const] : [],
  );
  return {
    ...Object.fromEntries(named),
    algorithm: [algorithm],
    scheme: [scheme],
    format: [format],
    caller: [requestedBy, ownerId],
  };
}

const LONGEST_NAME = 80;

function nameOf({ metadata, reference, algorithm, digest }: ShownFields): string {
  const { filename } = metadata;
  const plain = typeof filename === 'string' && filename !== '' ? filename : reference;
  return plain === null
    ? `${algorithm} ${digest.toString('hex').slice(0, 16)}…`
    : truncate(plain.replaceAll(/\p{C}/gu, ' '), LONGEST_NAME);
}

/** Base64 of the SHA-256. */
function hashOf(bytes: Buffer | null | undefined): string | null {
  return bytes === null || bytes === undefined ? null : createHash('sha256').update(bytes).digest('base64');
}
