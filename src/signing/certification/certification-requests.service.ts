import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { schemeFor } from '../requests/sign-request-validator.js';
import { SigningService } from '../requests/signing.service.js';
import { signatureIdentifier } from '../formats/algorithm-identifiers.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { certificationRequestInfo, type DistinguishedName, signed } from '../certificates/certificate-writer.js';
import { writePem } from '../../formats/encoding/base64.js';

export interface CertificationRequestOrder {
  readonly subject: DistinguishedName;
  /** Defaults to the newest version. */
  readonly version?: number;
  readonly use?: IdempotentUse;
}

/** CertificationRequestsService creates PKCS #10 requests that are signed in the HSM. */
@Injectable()
export class CertificationRequestsService {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly signing: SigningService,
  ) {}

  /**
   * Returns a certification request (RFC 2986) for one version of a key, PEM. The certification request is signed through a separate signing request, so that
   * this use of the key is recorded like any other use. Repeating a call with its Idempotency-Key returns the first result.
   */
  async create(caller: Caller, keyId: string, { subject, version, use }: CertificationRequestOrder): Promise<string> {
    const key = await this.keys.version(caller, keyId, version);
    const scheme = schemeFor(key.type, undefined);
    const { signature, keyVersion } = await this.signing.signOwn(caller, {
      key,
      scheme,
      algorithm: 'sha256',
      toBeSigned: infoOf(key, subject),
      metadata: { purpose: 'certification request', subject: { ...subject } },
      use,
    });
    const signer = keyVersion === key.version ? key : await this.keys.version(caller, keyId, keyVersion);
    return writePem(
      'CERTIFICATE REQUEST',
      signed(infoOf(signer, subject), signatureIdentifier(scheme, 'sha256', key.type), signature),
    );
  }
}

/** Returns the CertificationRequestInfo. The same version and subject always produce the same bytes. */
function infoOf({ publicKey, purpose }: ActiveKey, subject: DistinguishedName): Buffer {
  return certificationRequestInfo({ subject, publicKey, purpose });
}
