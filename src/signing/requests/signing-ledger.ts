import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { type Actor, AuditService, type NewEntry } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { Config } from '../../platform/config/config.js';
import { columns } from '../../platform/database/columns.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import { Problem } from '../../platform/http/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { Outbox } from '../../platform/outbox/outbox.js';
import { leaseMs, SWEEP_AFTER_MS, WORKER_ID } from './signing-limits.js';
import type { SigningRequest } from './signing-request.entity.js';
import { type SigningStatus, statusesBefore } from './signing-status.js';
import { SIGNING_QUEUE } from './signing.queue.js';

/** A request as it comes in. */
export interface Acceptance {
  readonly request: Pick<
    SigningRequest,
    'id' | 'digest' | 'algorithm' | 'scheme' | 'format' | 'keyId' | 'keyName' | 'keyVersion' | 'metadata' | 'reference'
  >;
  readonly status: Extract<SigningStatus, 'QUEUED' | 'PROCESSING'>;
  readonly caller: Caller;
  readonly use?: IdempotentUse;
}

export interface Accepted {
  /** The request's own id, or that of the earlier request which its Idempotency-Key stands for. */
  readonly id: string;
  /** When this call's group was committed; all times in answers are the database's. */
  readonly at: Date;
}

/** How an attempt ended. RELEASED gives the request back for another attempt. */
export type Outcome =
  | { readonly kind: 'SIGNED'; readonly signature: Buffer }
  | { readonly kind: 'FAILED'; readonly code: string; readonly detail: string }
  | { readonly kind: 'RELEASED'; readonly code: string; readonly retryInMs: number };

/** One attempt: the fence that every outcome must pass. */
export interface Attempt {
  readonly id: string;
  readonly attempt: number;
  /** X-Request-Id of the call that asked for the signature: goes into the entry of every step. */
  readonly correlation: string;
}

interface Settlement extends Attempt {
  readonly outcome: Outcome;
}

/** Who acts when no caller does. */
export const BACKGROUND: Actor = { kind: 'system', id: WORKER_ID, name: 'signing worker' };

/**
 * The two writes that every signature stands between: the intent before the HSM is asked, the outcome before anyone hears of it.
 * Both join their neighbours in one transaction, together with their audit entries.
 */
@Injectable()
export class SigningLedger implements OnApplicationShutdown {
  private readonly acceptances: GroupCommit<Acceptance, Accepted>;
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
  async accept(acceptance: Acceptance): Promise<Accepted> {
    const accepted = await this.acceptances.add(acceptance);
    if (acceptance.status === 'QUEUED') this.outbox.committed(SIGNING_QUEUE);
    return accepted;
  }

  /**
   * Commits how an attempt ended and answers when. Undefined when the request is no longer this attempt's: it was given to another worker
   * meanwhile, and the outcome, a signature included, is dropped and written down as discarded.
   */
  settle({ id, attempt, correlation }: Attempt, outcome: Outcome): Promise<Date | undefined> {
    return this.settlements.add({ id, attempt, correlation, outcome });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.acceptances.drained();
    await this.settlements.drained();
  }

  private async writeAcceptances(tx: EntityManager, items: Acceptance[]): Promise<Accepted[]> {
    const uses = items.flatMap(({ use }) => (use === undefined ? [] : [use]));
    const resources = await this.idempotency.claim(tx, uses);
    const standsFor = new Map(uses.map((use, i) => [use.resource, resources[i] ?? use.resource]));
    const fresh = items.filter(({ request }) => (standsFor.get(request.id) ?? request.id) === request.id);
    const at = await this.insert(tx, fresh);
    await this.audit.append(tx, fresh.map(acceptedEntry));
    const queued = fresh.filter(({ status }) => status === 'QUEUED').map(({ request }) => request.id);
    await this.outbox.add(tx, SIGNING_QUEUE, queued);
    return items.map(({ request }) => ({ id: standsFor.get(request.id) ?? request.id, at }));
  }

  /** The key is looked at once more, in the statement itself: a key that was disabled meanwhile takes no new request. */
  private async insert(tx: EntityManager, items: Acceptance[]): Promise<Date> {
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
      metadata: 'jsonb',
      reference: 'text',
      owner_id: 'text',
      requested_by: 'text',
      correlation: 'text',
    });
    const next = values.length + 1;
    const inserted: { at: Date }[] = await tx.query(
      `INSERT INTO signing_request (id, status, digest, algorithm, scheme, format, key_id, key_name, key_version, metadata, reference,
         owner_id, requested_by, correlation, attempt, worker, lease_until, sweep_at)
       SELECT item.id, item.status, digest, algorithm, scheme, format, item.key_id, key_name, key_version, metadata::jsonb, reference,
         item.owner_id, requested_by, correlation,
         CASE item.status WHEN 'PROCESSING' THEN 1 ELSE 0 END,
         CASE item.status WHEN 'PROCESSING' THEN $${next}::uuid END,
         CASE item.status WHEN 'PROCESSING' THEN now() + $${next + 1} * interval '1 ms' END,
         now() + $${next + 2} * interval '1 ms'
       FROM ${from} JOIN signing_key ON signing_key.id = item.key_id AND signing_key.state = 'ACTIVE'
       RETURNING created_at AS at`,
      [...values, WORKER_ID, leaseMs(this.config), SWEEP_AFTER_MS],
    );
    const [first] = inserted;
    if (first === undefined || inserted.length !== items.length)
      throw new Problem('conflict', 'signing-key.inactive', 'The key is not active any more.');
    return first.at;
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
    const [rows]: [{ id: string; at: Date }[], number] = await tx.query(
      `UPDATE signing_request r SET status = item.status, signature = item.signature, worker = NULL, lease_until = NULL,
         failure_code = item.failure_code, failure_detail = item.failure_detail,
         strikes = strikes + CASE item.status WHEN 'QUEUED' THEN 1 ELSE 0 END,
         sweep_at = CASE item.status WHEN 'QUEUED' THEN now() + item.retry_in_ms * interval '1 ms' ELSE sweep_at END,
         finished_at = CASE item.status WHEN 'QUEUED' THEN NULL ELSE now() END
       FROM ${from}
       WHERE r.id = item.id AND r.status = ANY($${next}) AND r.attempt = item.attempt AND r.worker = $${next + 1}
       RETURNING r.id, now() AS at`,
      [...values, statusesBefore('SIGNED'), WORKER_ID],
    );
    const moved = new Map(rows.map(({ id, at }) => [id, at]));
    await this.audit.append(
      tx,
      items.map((item) => settled(item, moved.has(item.id))),
    );
    return items.map(({ id }) => moved.get(id));
  }
}

function rowOf({ request, status, caller }: Acceptance) {
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
    metadata: request.metadata,
    reference: request.reference,
    owner_id: caller.ownerId,
    requested_by: caller.id,
    correlation: caller.origin.requestId,
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

function acceptedEntry({ request, status, caller }: Acceptance): NewEntry {
  const { keyName, keyVersion, algorithm, scheme, format } = request;
  return {
    action: 'signing.accepted',
    actor: caller,
    target: { kind: 'signing-request', id: request.id },
    correlation: caller.origin.requestId,
    source: caller.origin.address,
    detail: {
      to: status,
      attempt: status === 'PROCESSING' ? 1 : 0,
      key: keyName,
      keyVersion,
      algorithm,
      scheme,
      format,
      digest: request.digest.toString('base64'),
    },
  };
}

function settled({ id, attempt, correlation, outcome }: Settlement, moved: boolean): NewEntry {
  const target = { kind: 'signing-request', id };
  const base = { actor: BACKGROUND, target, correlation };
  const from = 'PROCESSING';
  const signatureSha256 =
    outcome.kind === 'SIGNED' ? createHash('sha256').update(outcome.signature).digest('base64') : undefined;
  if (!moved)
    return {
      ...base,
      action: 'signing.discarded',
      outcome: 'failed',
      detail: { attempt, late: outcome.kind, signatureSha256 },
    };
  switch (outcome.kind) {
    case 'SIGNED':
      return { ...base, action: 'signing.signed', detail: { from, to: 'SIGNED', attempt, signatureSha256 } };
    case 'FAILED':
      return {
        ...base,
        action: 'signing.failed',
        outcome: 'failed',
        detail: { from, to: 'FAILED', attempt, code: outcome.code },
      };
    case 'RELEASED':
      return {
        ...base,
        action: 'signing.released',
        outcome: 'failed',
        detail: { from, to: 'QUEUED', attempt, code: outcome.code },
      };
  }
}
