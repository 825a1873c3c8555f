import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { requestEntry } from '../signing-jobs.js';

/** A claimed request to be refused. */
export interface RefusedClaim {
  readonly id: string;
  readonly correlation: string;
  readonly approvalId: string | null;
}

/** RefusedClaims marks claimed requests as FAILED before an attempt is made. */
@Injectable()
export class RefusedClaims {
  constructor(private readonly audit: AuditService) {}

  /** Marks claimed requests as FAILED in the transaction that claimed them. The claim does not count as an attempt. */
  async fail(
    tx: EntityManager,
    requests: readonly RefusedClaim[],
    { code, detail }: { readonly code: string; readonly detail: string },
  ): Promise<void> {
    if (requests.length === 0) return;
    await tx.query(
      `UPDATE signing_request SET status = 'FAILED', attempt = attempt - 1, worker = NULL, lease_until = NULL, finished_at = now(),
         failure_code = $2, failure_detail = $3 WHERE id = ANY($1::uuid[]) AND status = 'PROCESSING'`,
      [requests.map(({ id }) => id), code, detail],
    );
    await this.audit.append(
      tx,
      requests.map((request) => {
        const failed = { from: 'QUEUED', to: 'FAILED', code, approval: request.approvalId ?? undefined };
        return requestEntry('signing.failed', request, failed, 'failed');
      }),
    );
  }
}
