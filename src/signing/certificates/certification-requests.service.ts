import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../auth/caller.js';
import { schemeFor } from '../requests/signing-order.js';
import { SigningService } from '../requests/signing.service.js';
import { signatureIdentifier } from '../formats/algorithm-identifiers.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { certificationRequestInfo, type DistinguishedName, pem, signed } from './certificate-writer.js';

/** Asks for certificates: PKCS #10 requests that are signed in the HSM. */
@Injectable()
export class CertificationRequestsService {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly signing: SigningService,
  ) {}

  /**
   * A certification request (RFC 2986) for one version of a key, PEM; the newest version when none is named. It is signed as a
   * signing request of its own, so that this use of the key is recorded like any other.
   */
  async create(caller: Caller, keyId: string, subject: DistinguishedName, version?: number): Promise<string> {
    const key = await this.keys.version(keyId, version);
    const info = certificationRequestInfo({ subject, publicKey: key.publicKey, purpose: key.purpose });
    const scheme = schemeFor(key.type, undefined);
    const signature = await this.signing.signOwn(caller, {
      key,
      scheme,
      algorithm: 'sha256',
      digest: createHash('sha256').update(info).digest(),
      metadata: { purpose: 'certification request', subject: { ...subject } },
    });
    return pem('CERTIFICATE REQUEST', signed(info, signatureIdentifier(scheme, 'sha256'), signature));
  }
}
