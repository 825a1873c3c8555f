import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { hasApproval } from '../../approvals/policies/approval-subject.port.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { Config } from '../../platform/config/config.js';
import { leaseMs, MAX_SIGNING_STRIKES, requestEntry } from '../signing-jobs.js';
import { type DueRows, WORKER_ID, claimDue, dueRows, whenDue } from '../../platform/work/claim.js';
import { WorkQueue } from '../../platform/work/work-queue.js';
import { ApprovalCheck } from './approval-check.js';
import { ClaimCheck, type ClaimedRow } from './claim-check.js';
import { SigningEnvelope, signingStatusesBefore } from '../signing-request.entity.js';
import type { Claimed } from './signing-attempt.js';

interface Reclaimed {
  readonly id: string;
  readonly attempt: number;
  readonly correlation: string;
  readonly status: 'QUEUED' | 'FAILED';
}

/** Maximum number of requests that one transaction ends or releases. */
const BATCH_SIZE = 500;
const CLAIMED = `t.strikes, t.correlation, t.trace_parent AS "traceParent", t.digest, t.algorithm, t.scheme, t.key_id AS "keyId", t.key_version AS "keyVersion", t.key_name AS "keyName",
  t.format, t.certificate_id AS "certificateId", t.composed, t.metadata, t.requested_by AS "requestedBy", t.owner_id AS "ownerId", t.identity, t.enveloped, t.approval_id AS "approvalId",
  ${hasApproval('signing-request', 't.id')} AS "hasApproval",
  (SELECT revision FROM signing_key k WHERE k.id = t.key_id) AS "keyRevision"`;

/** The statuses are literals, because with a parameter PostgreSQL cannot use the index on waiting requests. */
const IS_CLAIMABLE = `status IN (${signingStatusesBefore('PROCESSING')
  .map((status) => `'${status}'`)
  .join(', ')})`;

/** LEASE_IS_OVER selects requests whose process has not renewed its lease. */
export const LEASE_IS_OVER = {
  table: 'signing_request',
  where: `status = 'PROCESSING' AND lease_until < now()`,
  order: 'lease_until',
};

/** SIGNAL_IS_OVERDUE selects waiting requests whose signal should have arrived. */
export const SIGNAL_IS_OVERDUE = {
  table: 'signing_request',
  where: `${IS_CLAIMABLE} AND sweep_at <= now()`,
  order: 'sweep_at',
};

const QUEUE = {
  table: 'signing_request',
  attempt: 'attempt',
  dueAt: 'lease_until',
  open: `status = 'PROCESSING'`,
  columns: CLAIMED,
  begin: `status = 'PROCESSING', worker = '${WORKER_ID}'`,
};

/** SigningClaims claims requests for background work, and recovers the requests of dead processes. All times come from the database clock. */
@Injectable()
export class SigningClaims {
  private readonly queue: WorkQueue<ClaimedRow>;

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly config: Config,
    private readonly approvals: ApprovalCheck,
    private readonly checks: ClaimCheck,
  ) {
    this.queue = new WorkQueue(db, { ...QUEUE, leaseSeconds: leaseMs(config) / 1000 });
  }

  /** Claims the given requests that are still waiting. Two workers with the same signal share the requests without waiting for each other. */
  claim(requestIds: readonly string[]): Promise<Claimed[]> {
    const which = { where: 'id = ANY($1::uuid[])', order: 'id', limit: 1000 };
    return this.db.transaction((tx) => this.take(tx, which, [requestIds]));
  }

  /** Claims waiting requests whose signal is overdue, oldest first. With `everything`, also claims requests whose signal may still arrive. */
  async claimOverdue(max: number, everything: boolean): Promise<Claimed[]> {
    const where = everything ? '(sweep_at <= now() OR attempt = 0)' : 'sweep_at <= now()';
    const order = 'sweep_at';
    const due = { table: 'signing_request', where: `${IS_CLAIMABLE} AND ${where}`, order };
    const claimed = await whenDue(this.db, due, (tx) => this.take(tx, { where, order, limit: max }));
    return claimed ?? [];
  }

  /**
   * Takes requests from processes whose lease has expired. Whether the HSM created a signature is unknown, which the audit entry records. If such a process
   * resumes, its outcome is fenced off.
   */
  async reclaim(): Promise<number> {
    const reclaimed = await whenDue(this.db, LEASE_IS_OVER, async (tx) => {
      const rows = await claimDue<Reclaimed>(
        tx,
        {
          ...LEASE_IS_OVER,
          limit: BATCH_SIZE,
          set: `strikes = strikes + 1, worker = NULL, lease_until = NULL, sweep_at = now(),
            status = CASE WHEN strikes + 1 >= $1 THEN 'FAILED' ELSE 'QUEUED' END,
            failure_code = CASE WHEN strikes + 1 >= $1 THEN 'signing.worker-lost' END,
            failure_detail = CASE WHEN strikes + 1 >= $1 THEN 'Every worker that claimed this request was lost.' END,
            finished_at = CASE WHEN strikes + 1 >= $1 THEN now() END`,
          returning: 't.id, t.attempt, t.correlation, t.status',
        },
        [MAX_SIGNING_STRIKES],
      );
      await this.audit.append(
        tx,
        rows.map((row) => {
          const { attempt, status } = row;
          const action = status === 'FAILED' ? 'signing.failed' : 'signing.outcome-unknown';
          const detail = { from: 'PROCESSING', to: status, attempt, code: 'signing.worker-lost' };
          return requestEntry(action, row, detail, 'failed');
        }),
      );
      return rows.length;
    });
    return reclaimed ?? 0;
  }

  /** Ends requests that could not be signed within SVC_SIGNING_MAX_AGE_HOURS, because their callers no longer wait. */
  async expire(): Promise<void> {
    await this.db.transaction(async (tx) => {
      const rows = await claimDue<Pick<Claimed, 'id' | 'correlation'>>(
        tx,
        {
          table: 'signing_request',
          where: `status = 'QUEUED' AND coalesce(released_at, created_at) < now() - $1::int * interval '1 hour'`,
          order: 'id',
          limit: BATCH_SIZE,
          set: `status = 'FAILED', failure_code = 'signing.expired', finished_at = now(),
            failure_detail = 'The request could not be signed within ' || $1::int || ' hours.'`,
          returning: 't.id, t.correlation',
        },
        [this.config.signingMaxAgeHours],
      );
      const detail = { from: 'QUEUED', to: 'FAILED', code: 'signing.expired' };
      await this.audit.append(
        tx,
        rows.map((row) => requestEntry('signing.failed', row, detail, 'failed')),
      );
    });
  }

  private async take(
    tx: EntityManager,
    { where, ...which }: Pick<DueRows, 'where' | 'order' | 'limit'>,
    parameters: unknown[] = [],
  ): Promise<Claimed[]> {
    const due = dueRows({ ...which, table: 'signing_request', where: `${IS_CLAIMABLE} AND ${where}` });
    const claimed = await this.queue.claimFrom(due, parameters, tx);
    const rows = await this.checks.passed(tx, await withEnvelopes(tx, await this.approvals.cleared(tx, claimed)));
    if (rows.length > 0) await this.recordIntents(tx, rows, await this.checks.policySet(tx));
    return rows;
  }

  private recordIntents(tx: EntityManager, rows: Claimed[], policySet: number): Promise<void> {
    return this.audit.append(
      tx,
      rows.map((row) =>
        requestEntry('signing.claimed', row, {
          from: 'QUEUED',
          to: 'PROCESSING',
          attempt: row.attempt,
          policySet,
          approvalEntries: row.approvalEntries,
        }),
      ),
    );
  }
}

async function withEnvelopes<Row extends Claimed & { readonly enveloped: boolean }>(
  tx: EntityManager,
  rows: readonly Row[],
): Promise<Row[]> {
  const enveloped = rows.filter((row) => row.enveloped).map(({ id }) => id);
  if (enveloped.length === 0) return [...rows];
  const envelopes = await tx.findBy(SigningEnvelope, { requestId: In(enveloped) });
  const of = new Map(envelopes.map((envelope) => [envelope.requestId, envelope]));
  return rows.map((row) => ({ ...row, envelope: of.get(row.id) }));
}
