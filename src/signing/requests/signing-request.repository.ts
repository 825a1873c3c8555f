import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { POLICY_REVISION } from '../../approvals/subjects/approval-subject.port.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { Config } from '../../platform/config/config.js';
import { columns, prepared } from '../../platform/database/columns.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import { Problem } from '../../platform/errors/problem.js';
import { IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { Outbox } from '../../platform/outbox/outbox.js';
import { countUses } from '../keys/key-usage.js';
import { leaseMs, SWEEP_AFTER_MS } from '../model/signing-limits.js';
import { WORKER_ID } from '../../platform/jobs/lease.js';
import { acceptedEntry, settledEntry } from './signing-entries.js';
import type { NewSigningRequest, Accepted, SigningAttempt, SigningOutcome, Settlement } from './signing-outcome.js';
import { signingStatusesBefore } from '../model/signing-status.js';
import { SIGNING_QUEUE } from '../model/signing.queue.js';

/**
 * The two writes that every signature stands between: the intent before the HSM is asked, the outcome before anyone hears of it.
 * Both join their neighbours in one transaction, together with their audit entries.
 */
@Injectable()
export class SigningRequestRepository implements OnApplicationShutdown {
  private readonly acceptances: GroupCommit<NewSigningRequest, Accepted>;
  private readonly settlements: GroupCommit<Settlement, Date | undefined>;

  constructor(
    db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {
    this.acceptances = new GroupCommit(db, (tx, items) => this.writeAcceptances(tx, items));
    this.settlements = new GroupCommit(db, (tx, items) => this.writeSettlements(tx, items));
  }

  /** Commits a request, or finds the earlier one that its Idempotency-Key stands for. */
  async accept(acceptance: NewSigningRequest): Promise<Accepted> {
    const result = await this.acceptances.add(acceptance);
    if (acceptance.status === 'QUEUED') this.outbox.committed(SIGNING_QUEUE);
    return result;
  }

  /** The same in the caller's transaction. */
  acceptIn(tx: EntityManager, acceptances: NewSigningRequest[]): Promise<Accepted[]> {
    return this.writeAcceptances(tx, acceptances);
  }

  /**
   * Commits how an attempt ended and answers when. Undefined when the request is no longer this attempt's: it was given to another worker
   * meanwhile, and the outcome, a signature included, is dropped and written down as discarded.
   */
  settle({ id, attempt, correlation }: SigningAttempt, outcome: SigningOutcome): Promise<Date | undefined> {
    return this.settlements.add({ id, attempt, correlation, outcome });
  }

  /** Timestamps belong to the outcome: they commit with the signature that they are over. */
  private async keepTokens(tx: EntityManager, items: Settlement[]): Promise<void> {
    const rows = items.flatMap(({ id, outcome }) =>
      outcome.kind === 'SIGNED' && outcome.timestampToken !== undefined ? [{ id, token: outcome.timestampToken }] : [],
    );
    if (rows.length === 0) return;
    const { from, values } = columns(rows, { id: 'uuid', token: 'bytea' });
    await tx.query(
      `UPDATE signing_envelope SET timestamp_token = item.token FROM ${from} WHERE request_id = item.id`,
      values,
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.acceptances.drained();
    await this.settlements.drained();
  }

  private async writeAcceptances(tx: EntityManager, items: NewSigningRequest[]): Promise<Accepted[]> {
    const uses = items.flatMap(({ use }) => (use === undefined ? [] : [use]));
    const resources = await this.idempotency.claim(tx, uses);
    const standsFor = new Map(uses.map((use, i) => [use.resource, resources[i] ?? use.resource]));
    const fresh = items.filter(({ request }) => (standsFor.get(request.id) ?? request.id) === request.id);
    await countUses(
      tx,
      fresh.map(({ request, limits }) => ({ ...request, limits })),
    );
    const at = await this.insert(tx, fresh);
    await this.insertEnvelopes(tx, fresh);
    await this.audit.append(tx, fresh.map(acceptedEntry));
    const queued = fresh.filter(({ status }) => status === 'QUEUED').map(({ request }) => request.id);
    await this.outbox.add(tx, SIGNING_QUEUE, queued);
    return items.map(({ request }) => ({ id: standsFor.get(request.id) ?? request.id, at }));
  }

  /**
   * The key and the policies are looked at once more, in the statement itself: a key that was disabled or changed meanwhile takes
   * no new request, and a policy that was made meanwhile is not missed.
   */
  private async insert(tx: EntityManager, items: NewSigningRequest[]): Promise<Date> {
    if (items.length === 0) return new Date();
    const { from, values } = columns(items.map(rowOf), {
      id: 'uuid',
      status: 'text',
      digest: 'bytea',
      algorithm: 'text',
      scheme: 'text',
      format: 'text',
      key_id: 'uuid',
      key_name: 'text',
      key_version: 'int',
      certificate_id: 'uuid',
      enveloped: 'boolean',
      composed: 'boolean',
      batch_id: 'uuid',
      batch_index: 'int',
      key_revision: 'int',
      metadata: 'jsonb',
      reference: 'text',
      owner_id: 'text',
      requested_by: 'text',
      correlation: 'text',
      approval_id: 'uuid',
      policies: 'int',
    });
    const next = values.length + 1;
    const inserted = await prepared<{ at: Date }>(
      tx,
      'accept',
      `INSERT INTO signing_request (id, status, digest, algorithm, scheme, format, key_id, key_name, key_version,
         certificate_id, enveloped, composed, batch_id, batch_index, metadata, reference, owner_id, requested_by, correlation, approval_id, attempt, worker, lease_until, sweep_at)
       SELECT item.id, item.status, digest, algorithm, scheme, format, item.key_id, key_name, key_version,
         certificate_id, enveloped, composed, batch_id, batch_index, metadata::jsonb, reference, item.owner_id, requested_by, correlation, approval_id,
         CASE item.status WHEN 'PROCESSING' THEN 1 ELSE 0 END,
         CASE item.status WHEN 'PROCESSING' THEN $${next}::uuid END,
         CASE item.status WHEN 'PROCESSING' THEN now() + $${next + 1} * interval '1 ms' END,
         now() + $${next + 2} * interval '1 ms'
       FROM ${from} JOIN signing_key ON signing_key.id = item.key_id AND signing_key.state = 'ACTIVE'
         AND signing_key.revision = item.key_revision
         AND (not_before IS NULL OR not_before <= now()) AND (not_after IS NULL OR not_after > now())
       WHERE item.policies IS NULL OR item.policies = ${POLICY_REVISION}
       RETURNING created_at AS at`,
      [...values, WORKER_ID, leaseMs(this.config), SWEEP_AFTER_MS],
    );
    const [first] = inserted;
    if (first === undefined || inserted.length !== items.length) throw await whyNot(tx, items);
    return first.at;
  }

  private async insertEnvelopes(tx: EntityManager, items: NewSigningRequest[]): Promise<void> {
    const rows = items.flatMap(({ request, envelope }) =>
      envelope === undefined ? [] : [{ request_id: request.id, ...envelopeRow(envelope) }],
    );
    if (rows.length === 0) return;
    const { from, values } = columns(rows, {
      request_id: 'uuid',
      content: 'bytea',
      to_be_signed: 'bytea',
      signed_digest: 'bytea',
      timestamped: 'boolean',
    });
    await tx.query(
      `INSERT INTO signing_envelope (request_id, content, to_be_signed, signed_digest, timestamped) SELECT * FROM ${from}`,
      values,
    );
  }

  private async writeSettlements(tx: EntityManager, items: Settlement[]): Promise<(Date | undefined)[]> {
    const { from, values } = columns(items.map(settlementRow), {
      id: 'uuid',
      attempt: 'int',
      status: 'text',
      signature: 'bytea',
      failure_code: 'text',
      failure_detail: 'text',
      retry_in_ms: 'int',
    });
    const next = values.length + 1;
    const rows = await prepared<{ id: string; at: Date }>(
      tx,
      'settle',
      `UPDATE signing_request r SET status = item.status, signature = item.signature, worker = NULL, lease_until = NULL,
         failure_code = item.failure_code, failure_detail = item.failure_detail,
         strikes = strikes + CASE item.status WHEN 'QUEUED' THEN 1 ELSE 0 END,
         sweep_at = CASE item.status WHEN 'QUEUED' THEN now() + item.retry_in_ms * interval '1 ms' ELSE sweep_at END,
         finished_at = CASE item.status WHEN 'QUEUED' THEN NULL ELSE now() END
       FROM ${from}
       WHERE r.id = item.id AND r.status = ANY($${next}) AND r.attempt = item.attempt AND r.worker = $${next + 1}
       RETURNING r.id, now() AS at`,
      [...values, signingStatusesBefore('SIGNED'), WORKER_ID],
    );
    const moved = new Map(rows.map(({ id, at }) => [id, at]));
    await this.keepTokens(
      tx,
      items.filter(({ id }) => moved.has(id)),
    );
    await this.audit.append(
      tx,
      items.map((item) => settledEntry(item, moved.has(item.id))),
    );
    return items.map(({ id }) => moved.get(id));
  }
}

async function whyNot(tx: EntityManager, items: NewSigningRequest[]): Promise<Problem> {
  const [row]: { revision: number }[] = await tx.query(`SELECT ${POLICY_REVISION} AS revision`);
  return items.some(({ policies }) => policies !== undefined && policies !== row?.revision)
    ? new Problem('conflict', 'approval.policies-changed', 'The approval policies were changed meanwhile; try again.')
    : new Problem('conflict', 'signing-key.inactive', 'The key is not active any more.');
}

function envelopeRow({ content, toBeSigned, signedDigest, timestamped }: NonNullable<NewSigningRequest['envelope']>) {
  return { content, to_be_signed: toBeSigned, signed_digest: signedDigest, timestamped };
}

function rowOf({ request, envelope, status, caller, keyRevision, approvalId, policies }: NewSigningRequest) {
  return {
    id: request.id,
    status,
    digest: request.digest,
    algorithm: request.algorithm,
    scheme: request.scheme,
    format: request.format,
    key_id: request.keyId,
    key_name: request.keyName,
    key_version: request.keyVersion,
    certificate_id: request.certificateId,
    enveloped: envelope !== undefined,
    composed: request.composed,
    batch_id: request.batchId,
    batch_index: request.batchIndex,
    key_revision: keyRevision,
    metadata: request.metadata,
    reference: request.reference,
    owner_id: caller.ownerId,
    requested_by: caller.id,
    correlation: caller.origin.requestId,
    approval_id: approvalId,
    policies,
  };
}

function settlementRow({ id, attempt, outcome }: Settlement) {
  return {
    id,
    attempt,
    status: outcome.kind === 'RELEASED' ? 'QUEUED' : outcome.kind,
    signature: outcome.kind === 'SIGNED' ? outcome.signature : null,
    failure_code: outcome.kind === 'FAILED' ? outcome.code : null,
    failure_detail: outcome.kind === 'FAILED' ? outcome.detail : null,
    retry_in_ms: outcome.kind === 'RELEASED' ? Math.round(outcome.retryInMs) : 0,
  };
}
