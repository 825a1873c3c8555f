import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import type { BatchItem } from '../batches/signing-batches.reader.js';
import { SigningBatchesService } from '../batches/signing-batches.service.js';
import type { ShownRequest } from '../requests/signing-requests.reader.js';
import { SigningService } from '../requests/signing.service.js';
import { EarlierRequests, type FacadeOrder } from './earlier-requests.js';

export type SignedRequest = ShownRequest & { readonly signature: Buffer };

/** A signature in a batch, and the key version that made the signature. */
export interface BatchSignature {
  readonly signature: Buffer;
  readonly keyVersion: number;
}

/** Options that clients of a facade cannot specify. A client gets a raw signature immediately, or an error. */
const BARE = { format: 'raw', timestamp: false, reference: null, background: false } as const;
/** Maximum number of parallel lookups per call. A higher number would delay other callers. */
const AT_ONCE = 8;

/**
 * FacadeSigning signs for clients that support neither requests nor polling. If approval is required, the call fails with the URL of the approval.
 * After the approval, the same call by the same caller returns the signature.
 */
@Injectable()
export class FacadeSigning {
  constructor(
    private readonly signing: SigningService,
    private readonly batches: SigningBatchesService,
    private readonly earlier: EarlierRequests,
    private readonly config: Config,
  ) {}

  /** Signs one digest. Throws Problem `approval.needed` (forbidden) while the approval is pending, and the Problems of `SigningService.submit`. */
  async sign(caller: Caller, order: FacadeOrder): Promise<SignedRequest> {
    const request =
      (await this.earlier.find(caller, order)) ?? (await this.signing.submit(caller, { ...order, ...BARE }));
    const { signature } = request;
    if (signature === null) throw this.waits(request);
    return Object.assign(request, { signature });
  }

  /**
   * Signs many digests as one batch. Digests that need approval share one approval. Returns a signature or a Problem for each order.
   *
   * @throws Problem if the whole call is refused, for example `approval.too-many-open`
   */
  async signAll(caller: Caller, orders: readonly FacadeOrder[]): Promise<(BatchSignature | Problem)[]> {
    const outcomes: (BatchSignature | Problem | undefined)[] = [];
    const waiting = orders.entries();
    const lookUp = async () => {
      for (const [i, order] of waiting) {
        const request = await this.earlier.find(caller, order);
        outcomes[i] = request && this.outcomeOf(request);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lookUp));
    const fresh = [...orders.entries()].filter(([i]) => outcomes[i] === undefined);
    if (fresh.length > 0) {
      const batch = { orders: fresh.map(([, order]) => ({ ...order, ...BARE })), background: false };
      const { items } = await this.batches.submit(caller, batch);
      for (const item of items) {
        const [place = 0] = fresh[item.index] ?? [];
        outcomes[place] = this.outcomeOfItem(item);
      }
    }
    return Array.from(orders, (_, i) => outcomes[i] ?? late());
  }

  private outcomeOf(request: ShownRequest): BatchSignature | Problem {
    const { signature, keyVersion } = request;
    return signature === null ? this.waits(request) : { signature, keyVersion };
  }

  private outcomeOfItem({
    requestId,
    status,
    signature,
    key,
    approvalId,
    failure,
  }: BatchItem): BatchSignature | Problem {
    if (failure !== undefined) return new Problem('refused', failure.code, failure.detail);
    if (signature && key !== undefined) return { signature, keyVersion: key.version };
    return this.waits({ id: requestId ?? '', status, approvalId: approvalId ?? null });
  }

  private waits({ id, status, approvalId }: { id: string; status: string; approvalId: string | null }): Problem {
    const instance = `/api/v1/sign/requests/${id}`;
    if (status !== 'PENDING_APPROVAL') return late(id);
    const place = `${this.config.publicUrl}/approvals/${approvalId ?? ''}`;
    const detail = `This key requires approval. Request ${id} is pending at ${place}. Repeat the call after it is approved.`;
    return new Problem('forbidden', 'approval.needed', detail, { instance });
  }
}

function late(id?: string): Problem {
  const detail = id === undefined ? 'The signature is not ready yet' : `Request ${id} is not signed yet`;
  const instance = id === undefined ? undefined : `/api/v1/sign/requests/${id}`;
  return new Problem('unavailable', 'signing.late', `${detail}. Repeat the call.`, { instance, retryAfter: 2 });
}
