import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../auth/caller.js';
import { needsApproval } from '../approval/needs-approval.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { SigningService } from '../requests/signing.service.js';

export interface ProcessOrder {
  /** Base64 of the hash value. */
  readonly digest: string;
  readonly algorithm: string;
  readonly fileName: string | undefined;
}

export interface Processed {
  readonly signature: Buffer;
  readonly requestId?: string;
  readonly certificate?: Buffer;
}

/** jsign learns the certificate by asking for a signature over the SHA-256 of nothing. */
const OF_NOTHING = createHash('sha256').digest('base64');

/** What clients of the REST interface of SignServer call: a worker is a signing key, and a call a signing request like any other. */
@Injectable()
export class SignServerService {
  constructor(
    private readonly signing: SigningService,
    private readonly keys: SigningKeyReader,
    private readonly certificates: CertificatesReader,
  ) {}

  /** Nothing is signed for the hash of nothing. Problem `approval.needed` when people are asked first. */
  async process(caller: Caller, name: string, { digest, algorithm, fileName }: ProcessOrder): Promise<Processed> {
    if (digest === OF_NOTHING) {
      const { certificateId } = await this.keys.active(name);
      return { signature: Buffer.alloc(0), certificate: (await this.certificates.chain(certificateId))?.[0] };
    }
    const request = await this.signing.submit(caller, {
      digest,
      algorithm,
      key: name,
      format: 'raw',
      timestamp: false,
      metadata: fileName === undefined ? {} : { filename: fileName },
      reference: null,
      background: false,
    });
    if (request.signature === null) throw needsApproval(request.id);
    return { signature: request.signature, requestId: request.id, certificate: request.chain?.[0] };
  }
}
