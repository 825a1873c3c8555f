import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { EVERY_KEY } from '../../access/key-patterns.js';
import { ApprovalsService, type KnownApproval } from '../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../approvals/policies/key-use.port.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { CALLER_PURPOSES } from '../keys/signing-key.entity.js';
import { keyFactsOf } from '../keys/key-facts.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { requestEntry } from '../signing-jobs.js';
import { SigningEnvelope, SigningRequest } from '../signing-request.entity.js';
import { ApprovalCover } from './approval-cover.js';
import { SignRequestValidator } from './sign-request-validator.js';
import { shownBatch } from './shown-batch.js';
import { shownRequest, useOfRequest } from './shown-request.js';

const BATCH_SIZE = 50;
/** OUTDATED_APPROVAL selects the approvals of waiting requests whose key version no longer signs. */
export const OUTDATED_APPROVAL = `SELECT DISTINCT r.approval_id AS id
  FROM signing_request r JOIN signing_key k ON k.id = r.key_id AND k.state = 'ACTIVE'
  WHERE r.status = 'PENDING_APPROVAL' AND r.key_version < k.version AND r.approval_id IS NOT NULL`;

/** Claimed requests for which approval was requested again. */
export interface Renewed {
  readonly requests: readonly SigningRequest[];
  /** Reason why approval cannot be requested again, for example because the active version has no certificate. */
  readonly failure?: Problem;
}

export interface Held {
  readonly request: SigningRequest;
  readonly envelope: SigningEnvelope | undefined;
}

/**
 * ApprovalRenewal requests approval again. An approval is for one version of a key, so after a rotation the request is bound to the new version and
 * needs another approval. If the current policies require more votes than were given, the approval continues with further stages.
 */
@Injectable()
export class ApprovalRenewal {
  private readonly logger = new Logger(ApprovalRenewal.name);

  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
    private readonly audit: AuditService,
    private readonly keys: SigningKeyReader,
    private readonly validator: SignRequestValidator,
  ) {}

  /** Renews the approvals of waiting requests whose key version no longer signs. */
  async renewWaiting(): Promise<void> {
    const rows: { id: string }[] = await this.db.query(`${OUTDATED_APPROVAL} LIMIT ${BATCH_SIZE}`);
    for (const { id } of rows)
      await this.db
        .transaction((tx) => this.renewPending(tx, id))
        .catch((error: unknown) => this.logger.warn(`approval ${id} could not be renewed: ${String(error)}`));
  }

  /**
   * Requests approval again for claimed requests whose key was rotated after the approval, or for which the current policies require more votes. Returns
   * these requests. Requests of a batch that have already been signed keep their approval, so the rest of the batch gets a new approval. A single request
   * keeps its votes.
   */
  async renewedOf(tx: EntityManager, old: KnownApproval, claimed: readonly Held[]): Promise<Renewed> {
    const versions = await versionsOf(tx, claimed);
    const { demand } = await this.approvals.judgeNow(tx, 'signing-request', claimed.map(useOfHeld));
    const fallsShort = await this.approvals.fallsShort(tx, old.id, demand);
    const again = claimed.filter((one) => fallsShort || isRotated(one, versions));
    const [first] = again;
    if (first === undefined) return { requests: [] };
    const isBatch = old.kind === 'signing-batch';
    const demandAgain = async (inner: EntityManager) => {
      if (isBatch || isRotated(first, versions)) await this.renew(inner, old, again, { versions, isRest: isBatch });
      else if (await this.approvals.reopen(inner, old.id, demand)) await this.move(inner, first, old.id);
    };
    const requests = again.map(({ request }) => request);
    try {
      await tx.transaction(demandAgain);
    } catch (error) {
      if (!(error instanceof Problem) || error.isTransient) throw error;
      return { requests, failure: error };
    }
    return { requests };
  }

  /**
   * Renews a whole approval. Does nothing if the row of a request no longer matches the approval; the claim of that request fails later. Locks are taken in
   * the same order as for a vote: first the approval, then the requests that are waiting for it.
   */
  private async renewPending(tx: EntityManager, id: string): Promise<void> {
    const old = await this.approvals.holdPending(tx, id);
    if (old === undefined) return;
    // The statement contains the status, because the partial index covers only requests with this status.
    const requests = await tx
      .createQueryBuilder(SigningRequest, 'r')
      .where(`r.approval_id = :id AND r.status = 'PENDING_APPROVAL'`, { id })
      .orderBy('r.id')
      .setLock('pessimistic_write')
      .getMany();
    const envelopes = await tx.findBy(SigningEnvelope, { requestId: In(requests.map((request) => request.id)) });
    const of = new Map(envelopes.map((envelope) => [envelope.requestId, envelope]));
    const held = requests.map((request) => ({ request, envelope: of.get(request.id) }));
    // The new approval request is composed from these rows, so the rows must match the original approval request.
    const cover = new ApprovalCover(await this.approvals.coveringOf(tx, id));
    if (!held.every((one) => cover.holds(one))) return;
    const versions = await versionsOf(tx, held);
    if (held.some((one) => isRotated(one, versions))) await this.renew(tx, old, held, { versions, isRest: false });
  }

  private async renew(
    tx: EntityManager,
    old: KnownApproval,
    held: readonly Held[],
    { versions, isRest }: { versions: ReadonlyMap<string, number>; isRest: boolean },
  ): Promise<void> {
    const approvalId = newId();
    const bound: Held[] = [];
    for (const one of held)
      bound.push(
        isRotated(one, versions) ? await this.rebind(tx, one, approvalId) : await this.move(tx, one, approvalId),
      );
    const [first] = bound;
    if (first === undefined) return;
    const isBatch = old.kind === 'signing-batch';
    const shown = isBatch ? shownBatch(old.subjectId, bound) : shownRequest(first.request, first.envelope);
    await this.approvals.renew(tx, old.id, { id: approvalId, uses: bound.map(useOfHeld), ...shown }, isRest);
  }

  /** Binds a request to the active version. */
  private async rebind(tx: EntityManager, { request, envelope }: Held, approvalId: string): Promise<Held> {
    // The purpose of the signature was checked when the request was accepted, and the purpose of a key never changes.
    this.keys.forgetNamed(request.keyId);
    const key = await this.keys.active(EVERY_KEY, request.keyId, CALLER_PURPOSES);
    const { version: keyVersion, certificateId } = key;
    const sealed = envelope === undefined ? undefined : await this.validator.rewrap(request, envelope, key);
    const facts = { ...keyFactsOf(key), signedDigest: sealed?.signedDigest?.toString('base64') };
    await this.write(tx, request, { approvalId, keyVersion, certificateId }, facts);
    if (envelope !== undefined && sealed !== undefined) {
      const { toBeSigned, signedDigest } = sealed;
      await tx.update(SigningEnvelope, { requestId: request.id }, { toBeSigned, signedDigest });
      Object.assign(envelope, { toBeSigned, signedDigest });
    }
    return { request: Object.assign(new SigningRequest(), request, { keyVersion, certificateId }), envelope };
  }

  private async move(tx: EntityManager, held: Held, approvalId: string): Promise<Held> {
    const { keyVersion, certificateId } = held.request;
    await this.write(tx, held.request, { approvalId, keyVersion, certificateId });
    return held;
  }

  /** Moves a request to PENDING_APPROVAL, from its claim or from the old approval. */
  private async write(
    tx: EntityManager,
    { id, status, correlation }: SigningRequest,
    to: { approvalId: string; keyVersion: number; certificateId: string | null },
    facts: object = {},
  ): Promise<void> {
    await tx.query(
      `UPDATE signing_request SET status = 'PENDING_APPROVAL', approval_id = $2, key_version = $3, certificate_id = $4, released_at = NULL,
         attempt = attempt - CASE status WHEN 'PROCESSING' THEN 1 ELSE 0 END, worker = NULL, lease_until = NULL
       WHERE id = $1 AND status IN ('PROCESSING', 'PENDING_APPROVAL')`,
      [id, to.approvalId, to.keyVersion, to.certificateId],
    );
    const from = status === 'PROCESSING' ? 'QUEUED' : 'PENDING_APPROVAL';
    const detail = { from, to: 'PENDING_APPROVAL', approval: to.approvalId, keyVersion: to.keyVersion, ...facts };
    await this.audit.append(tx, [requestEntry('signing.approval-renewed', { id, correlation }, detail)]);
  }
}

function useOfHeld({ request }: Held): KeyUseToApprove {
  return useOfRequest(request);
}

/** Returns the active versions. Keys that are not active are omitted; the attempt rejects requests for these keys. */
async function versionsOf(tx: EntityManager, held: readonly Held[]): Promise<ReadonlyMap<string, number>> {
  const rows: { id: string; version: number }[] = await tx.query(
    `SELECT id, version FROM signing_key WHERE id = ANY($1::uuid[]) AND state = 'ACTIVE'`,
    [held.map(({ request }) => request.keyId)],
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

function isRotated({ request }: Held, versions: ReadonlyMap<string, number>): boolean {
  return (versions.get(request.keyId) ?? request.keyVersion) !== request.keyVersion;
}
