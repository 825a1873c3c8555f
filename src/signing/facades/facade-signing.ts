import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { digestAlgorithm, digestBytes, schemeFor, type SigningOrder } from '../requests/sign-request-validator.js';
import { type ShownRequest, SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { isAboutTheKey, SigningService } from '../requests/signing.service.js';

/** A signature over a hash value, bare. */
export type FacadeOrder = Pick<SigningOrder, 'digest' | 'algorithm' | 'scheme' | 'metadata'> & { readonly key: string };
export type SignedRequest = ShownRequest & { readonly signature: Buffer };

/** How long a call that is repeated waits for the signature that people have released. */
const RELEASED_WAIT_S = 10;

/**
 * Signs for clients that know neither requests nor waiting. Where people are asked first, the call is refused with the place where they are
 * asked, and the same call again, by the same caller, gets the signature once they have agreed.
 */
@Injectable()
export class FacadeSigning {
  constructor(
    private readonly db: DataSource,
    private readonly signing: SigningService,
    private readonly requests: SigningRequestsReader,
    private readonly keys: SigningKeyReader,
    private readonly config: Config,
  ) {}

  /** Problem `approval.needed` (forbidden) while people are asked, and those of `SigningService.submit`. */
  async sign(caller: Caller, order: FacadeOrder): Promise<SignedRequest> {
    const request = (await this.askedBefore(caller, order)) ?? (await this.submit(caller, order));
    const { signature } = request;
    if (signature === null) throw this.waits(request);
    return Object.assign(request, { signature });
  }

  private submit(caller: Caller, order: FacadeOrder): Promise<ShownRequest> {
    return this.signing.submit(caller, {
      ...order,
      format: 'raw',
      timestamp: false,
      reference: null,
      background: false,
    });
  }

  /** The newest request of this caller for the same signature that people were asked about, unless it came to nothing. */
  private async askedBefore(caller: Caller, order: FacadeOrder): Promise<ShownRequest | undefined> {
    const key = await this.activeKey(order.key);
    if (key === undefined) return undefined;
    const algorithm = digestAlgorithm(order.algorithm);
    const digest = digestBytes(order.digest ?? '', algorithm);
    const [row]: { id: string; status: string }[] = await this.db.query(
      `SELECT id, status FROM signing_request WHERE digest = $1 AND requested_by = $2 AND key_id = $3 AND key_version = $4
         AND algorithm = $5 AND scheme = $6 AND format = 'raw' AND NOT composed AND batch_id IS NULL AND approval_id IS NOT NULL
         AND status <> 'FAILED' ORDER BY id DESC LIMIT 1`,
      [digest, caller.id, key.keyId, key.version, algorithm, schemeFor(key.type, order.scheme)],
    );
    if (row === undefined) return undefined;
    const isReleased = row.status === 'QUEUED' || row.status === 'PROCESSING';
    const request = await this.requests.find(caller, row.id, isReleased ? RELEASED_WAIT_S : 0);
    return request.status === 'FAILED' ? undefined : request;
  }

  /** Undefined where `submit` has to decide: the remembered state of a key may be seconds old. */
  private async activeKey(name: string): Promise<ActiveKey | undefined> {
    try {
      return await this.keys.active(name);
    } catch (error) {
      if (isAboutTheKey(error)) return undefined;
      throw error;
    }
  }

  private waits({ id, status, approvalId }: ShownRequest): Problem {
    const instance = `/api/v1/sign/requests/${id}`;
    if (status !== 'PENDING_APPROVAL') {
      const detail = `The request ${id} is not signed yet; repeat the call.`;
      return new Problem('unavailable', 'signing.late', detail, { instance, retryAfter: 2 });
    }
    const place = `${this.config.publicUrl}/approvals/${approvalId ?? ''}`;
    const detail = `The key signs only after approval. The request ${id} waits for it at ${place}; once it is approved, the same call gets the signature.`;
    return new Problem('forbidden', 'approval.needed', detail, { instance });
  }
}
