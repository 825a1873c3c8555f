import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/work/clock.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { FacadeSigning } from './facade-signing.js';
import type { ProcessOrder } from './sign-server-order.js';

export interface Processed {
  readonly signature: Buffer;
  /** Empty if nothing was signed. */
  readonly requestId: string;
  /** DER. */
  readonly certificate: Buffer;
}

/** SignServerService implements SignServer's REST interface: a worker is a signing key, and each call is a regular signing request. */
@Injectable()
export class SignServerService {
  constructor(
    private readonly signing: FacadeSigning,
    private readonly keys: SigningKeyReader,
    private readonly certificates: CertificatesReader,
    private readonly clock: Clock,
  ) {}

  /**
   * Signs a hash value. Nothing is signed for the hash of empty data. If the key has no certificate, the request is rejected before anything is signed,
   * because every SignServer response contains a certificate and clients do not handle a missing certificate.
   *
   * @throws Problem `certificate.none`, `certificate.expired`, `approval.needed` if approval is required, and the Problems of signing.
   */
  async process(caller: Caller, name: string, order: ProcessOrder): Promise<Processed> {
    const certificate = await this.certificateOf(caller, name);
    if (order.isOfNothing) return { signature: Buffer.alloc(0), requestId: '', certificate };
    const { digest, algorithm, fileName } = order;
    const request = await this.signing.sign(caller, {
      digest: digest.toString('base64'),
      algorithm,
      key: name,
      metadata: fileName === undefined ? {} : { filename: fileName },
    });
    return { signature: request.signature, requestId: request.id, certificate: request.chain?.[0] ?? certificate };
  }

  private async certificateOf(caller: Caller, name: string): Promise<Buffer> {
    const { certificateId, name: keyName } = await this.keys.active(caller, name);
    const certificate = certificateId === null ? undefined : await this.certificates.get(certificateId);
    const own = certificate?.chain[0];
    if (certificate === undefined || own === undefined) {
      const detail = `Key "${keyName}" has no certificate, which SignServer clients require. Import a certificate first.`;
      throw new Problem('conflict', 'certificate.none', detail);
    }
    if (this.clock.now() < certificate.notAfter) return own;
    const detail = `The certificate of key "${keyName}" expired at ${certificate.notAfter.toISOString()}. Import a renewed certificate.`;
    throw new Problem('conflict', 'certificate.expired', detail);
  }
}
