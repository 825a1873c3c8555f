import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import { writePem } from '../../formats/encoding/base64.js';
import { isMlDsa, type SignaturePurpose } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/work/clock.js';
import type { Certificate } from '../certificates/certificate.entity.js';
import { type DistinguishedName, selfIssuedCertificate, signed } from '../certificates/certificate-writer.js';
import { CertificatesService } from '../certificates/certificates.service.js';
import { FORMAT_DIGESTS, signatureIdentifier } from '../formats/algorithm-identifiers.js';
import type { KeyPurpose } from '../keys/signing-key.entity.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import type { SigningRequest } from '../signing-request.entity.js';
import { schemeFor } from '../requests/sign-request-validator.js';
import { SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { SigningService } from '../requests/signing.service.js';

export interface SelfSignedOrder {
  readonly subject: DistinguishedName;
  readonly notAfter?: Date;
}

/** SelfSignedCertificate is a certificate signed by its own key, with the corresponding signing request. */
export interface SelfSignedCertificate {
  readonly request: Pick<SigningRequest, 'id' | 'status' | 'approvalId'>;
  /** Undefined until the request is signed. */
  readonly certificate?: Certificate;
}

/** The structure to be signed, and the parameters of its signature. */
interface Composed {
  readonly toBeSigned: Buffer;
  /** AlgorithmIdentifier, DER. */
  readonly identifier: Buffer;
  readonly algorithm: (typeof FORMAT_DIGESTS)[number];
  readonly digest: Buffer;
}

/** "No well-defined expiration date" (RFC 5280 section 4.1.2.5). */
const NO_END = new Date('9999-12-31T23:59:59Z');

/**
 * Key purposes for which a self-signed certificate can be issued, with the purpose to specify in the signing request (undefined if no purpose is specified).
 */
const REQUEST_PURPOSES: Partial<Record<KeyPurpose, { readonly purpose: SignaturePurpose | undefined }>> = {
  signing: { purpose: undefined },
  'code-signing': { purpose: 'code-signing' },
  documents: { purpose: 'documents' },
  'tls-client': { purpose: 'tls-client' },
  'ssh-login': { purpose: 'ssh-login' },
};

/**
 * SelfSignedCertificatesService issues self-signed certificates for programs that ignore keys without a certificate (Java's PKCS #11 provider). The signature
 * is a regular signing request, which is subject to approval policies and to the key's limits.
 */
@Injectable()
export class SelfSignedCertificatesService {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly signing: SigningService,
    private readonly requests: SigningRequestsReader,
    private readonly certificates: CertificatesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates the certificate for the active version, or requests its approval. Equal orders produce the same certificate. After the approval, the caller
   * repeats the call, which then stores the certificate.
   *
   * @throws Problem `certificate.self-signed`
   */
  async make(caller: Caller, keyId: string, order: SelfSignedOrder): Promise<SelfSignedCertificate> {
    const { version } = await this.keys.get(caller, keyId);
    const key = await this.keys.version(caller, keyId, version);
    const composed = compose(key, order, this.clock.now());
    const { digest, algorithm } = composed;
    const earlier = await this.requests.about(caller, key, {
      digest,
      algorithm,
      scheme: schemeFor(key.type, undefined),
    });
    const request = earlier ?? (await this.ask(caller, key, composed, order));
    if (request.signature === null || request.status !== 'SIGNED') return { request };
    const der = signed(composed.toBeSigned, composed.identifier, request.signature);
    return { request, certificate: await this.certificates.importOnce(caller, keyId, writePem('CERTIFICATE', der)) };
  }

  private async ask(
    caller: Caller,
    key: ActiveKey,
    { algorithm, digest, toBeSigned: statement }: Composed,
    { subject, notAfter }: SelfSignedOrder,
  ): Promise<SigningRequest> {
    const request = await this.signing.submit(caller, {
      digest: digest.toString('base64'),
      algorithm,
      key: key.keyId,
      scheme: schemeFor(key.type, undefined),
      purpose: REQUEST_PURPOSES[key.purpose]?.purpose,
      format: 'raw',
      statement,
      timestamp: false,
      metadata: { filename: `${key.name}.crt`, purpose: 'self-signed certificate', subject: { ...subject }, notAfter },
      reference: null,
      background: false,
    });
    if (request.keyVersion === key.version) return request;
    throw refused(`Key "${key.name}" was rotated during this call. Repeat the call.`);
  }
}

function compose(key: ActiveKey, { subject, notAfter }: SelfSignedOrder, now: Date): Composed {
  const { name, type, purpose, publicKey, constraints, madeAt } = key;
  if (REQUEST_PURPOSES[purpose] === undefined || isMlDsa(type))
    throw refused(`Key "${name}" (type ${type}, purpose ${purpose}) cannot have a self-signed certificate.`);
  const end = notAfter ?? key.notAfter ?? NO_END;
  if (end <= now || end <= madeAt) {
    const errors = [{ pointer: '/notAfter', detail: 'must be in the future' }];
    throw new Problem('malformed', 'certificate.end', '/notAfter: must be in the future.', { errors });
  }
  const algorithm = FORMAT_DIGESTS.find((one) => constraints.algorithms?.includes(one) ?? true) ?? 'sha256';
  const identifier = signatureIdentifier(schemeFor(type, undefined), algorithm, type);
  const contents = { subject, publicKey, purpose, algorithm: identifier, notBefore: madeAt, notAfter: end };
  const toBeSigned = selfIssuedCertificate(contents);
  return { toBeSigned, identifier, algorithm, digest: createHash(algorithm).update(toBeSigned).digest() };
}

function refused(detail: string): Problem {
  return new Problem('conflict', 'certificate.self-signed', detail);
}
