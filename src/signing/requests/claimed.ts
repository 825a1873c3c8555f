import type { SigningEnvelope } from '../model/signing-envelope.entity.js';
import type { SigningRequest } from '../model/signing-request.entity.js';

/** What an attempt needs to know of its request. */
export type Claimed = Pick<
  SigningRequest,
  | 'id'
  | 'attempt'
  | 'strikes'
  | 'correlation'
  | 'digest'
  | 'algorithm'
  | 'scheme'
  | 'format'
  | 'keyId'
  | 'keyVersion'
  | 'keyName'
  | 'certificateId'
  | 'composed'
  | 'metadata'
  | 'requestedBy'
  | 'ownerId'
> & { readonly keyRevision: number; readonly envelope?: Omit<SigningEnvelope, 'requestId' | 'timestampToken'> };
