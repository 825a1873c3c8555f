import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { type Caller, isOwnedBy } from '../../access/caller.js';
import { mayDo } from '../../access/scopes.js';
import type { KeyUseToApprove } from '../../approvals/policies/key-use.port.js';
import {
  type ApprovalSubject,
  type SubjectApproval,
  ApprovalSubjectsService,
} from '../../approvals/policies/approval-subject.port.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { EventBus } from '../../platform/events/events.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import type { BindValue } from '../../platform/http/list-filter.js';
import { Outbox } from '../../platform/queue/outbox.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { useOfRequest } from './shown-request.js';
import { requestEntry, SWEEP_AFTER_MS, SIGNING_QUEUE } from '../signing-jobs.js';
import { SigningRequest } from '../signing-request.entity.js';

/** HeldRequests releases or ends the requests that are waiting for an approval: a single request, or all requests of a batch. */
@Injectable()
export class HeldRequests implements ApprovalSubject, OnModuleInit {
  constructor(
    private readonly audit: AuditService,
    private readonly outbox: Outbox,
    private readonly events: EventBus,
    private readonly subjects: ApprovalSubjectsService,
    private readonly keys: SigningKeyReader,
  ) {}

  onModuleInit(): void {
    this.subjects.register('signing-request', this);
    this.subjects.register('signing-batch', this);
  }

  /** Returns the names that do not belong to a key. Policies refer to keys by name, as requests do. */
  async unknownKeys(tx: EntityManager, names: readonly string[]): Promise<readonly string[]> {
    const known: { name: string }[] = await tx.query(
      `SELECT name FROM signing_key WHERE name = ANY($1::text[]) AND state <> 'FAILED'`,
      [names],
    );
    const found = new Set(known.map(({ name }) => name));
    return names.filter((name) => !found.has(name));
  }

  /** Returns the facts about requests that policies evaluate. Throws Problem `signing-request.missing` for requests that the caller may not see. */
  async usesOf(tx: EntityManager, caller: Caller, ids: readonly string[]): Promise<KeyUseToApprove[][]> {
    const found = ids.length === 0 ? [] : await tx.findBy(SigningRequest, { id: In(ids) });
    const known = new Map(found.map((request) => [request.id, request]));
    return ids.map((id) => {
      const request = known.get(id.toLowerCase());
      if (request !== undefined && (isOwnedBy(caller, request) || mayDo(caller.scopes, 'audit:read')))
        return [useOfRequest(request)];
      throw missing('signing-request');
    });
  }

  withReference(reference: string, bind: BindValue): string {
    return `SELECT r.id FROM signing_request r WHERE r.reference = ${bind(reference)}`;
  }

  /** @throws Problem `signing-key.unknown`, `credential.key` */
  async approvalsOfKey(caller: Caller, nameOrId: string, bind: BindValue): Promise<string> {
    const { id } = await this.keys.known(caller, nameOrId);
    return `SELECT r.approval_id FROM signing_request r WHERE r.key_id = ${bind(id)} AND r.approval_id IS NOT NULL`;
  }

  async usesToApprove(tx: EntityManager, approval: SubjectApproval): Promise<KeyUseToApprove[]> {
    const waiting = { id: In([...requestsOf(approval)]), status: 'PENDING_APPROVAL' as const };
    return (await tx.findBy(SigningRequest, waiting)).map(useOfRequest);
  }

  /** Queues the requests, with a job signal. ApprovalCheck compares each request with its approval when the request is claimed. */
  async released(tx: EntityManager, approval: SubjectApproval): Promise<void> {
    const { approvalId, correlation } = approval;
    const [moved]: [{ id: string }[], number] = await tx.query(
      `UPDATE signing_request SET status = 'QUEUED', released_at = now(), sweep_at = now() + $2 * interval '1 ms'
       WHERE id = ANY($1::uuid[]) AND status = 'PENDING_APPROVAL' RETURNING id`,
      [requestsOf(approval), SWEEP_AFTER_MS],
    );
    if (moved.length === 0)
      throw new Problem('conflict', 'approval.subject-gone', 'The request is not waiting for this approval.');
    const detail = { from: 'PENDING_APPROVAL', to: 'QUEUED', approval: approvalId };
    await this.audit.append(
      tx,
      moved.map(({ id }) => requestEntry('signing.approved', { id, correlation }, detail)),
    );
    await this.outbox.add(
      tx,
      SIGNING_QUEUE,
      moved.map(({ id }) => id),
    );
  }

  async ended(tx: EntityManager, approval: SubjectApproval, why: Problem): Promise<void> {
    const { approvalId, correlation } = approval;
    const [moved]: [{ id: string }[], number] = await tx.query(
      `UPDATE signing_request SET status = 'FAILED', failure_code = $2, failure_detail = $3, finished_at = now()
       WHERE id = ANY($1::uuid[]) AND status = 'PENDING_APPROVAL' RETURNING id`,
      [requestsOf(approval), why.code, why.message],
    );
    const detail = { from: 'PENDING_APPROVAL', to: 'FAILED', code: why.code, approval: approvalId };
    await this.audit.append(
      tx,
      moved.map(({ id }) => requestEntry('signing.failed', { id, correlation }, detail, 'failed')),
    );
  }

  /** Notifies the waiting caller of a single request. Callers of a batch are not notified, because batch callers poll. */
  decided(requestId: string): void {
    this.outbox.committed(SIGNING_QUEUE);
    this.events.emit('signing.moved', { requestId });
  }
}

function requestsOf({ subjectId, itemIds }: SubjectApproval): readonly string[] {
  return itemIds.length === 0 ? [subjectId] : itemIds;
}
