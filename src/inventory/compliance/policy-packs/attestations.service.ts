import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { newId } from '../../../platform/database/new-id.js';
import { Cursors, type Page } from '../../../platform/http/cursors.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { Attestation, type AttestationEvidence } from './attestation.entity.js';
import { dayOf, type EvaluateOrder, PolicyJudge } from './policy-judge.service.js';

const DAY_MS = 24 * 3600 * 1000;

export interface AttestOrder extends EvaluateOrder {
  readonly statement: string;
  /** Name of the assessor; defaults to the caller. */
  readonly reviewer?: string;
  readonly evidence: readonly AttestationEvidence[];
  readonly expiresAt?: Date;
}

/** AttestationsService stores attestations of the inventory's compliance with a policy pack. */
@Injectable()
export class AttestationsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly judge: PolicyJudge,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** @throws Problem 422 `attestation.open` if a manual assessment is missing, 422 `attestation.expiry`. */
  async attest(caller: Caller, order: AttestOrder, use?: IdempotentUse): Promise<Attestation> {
    const known = await this.idempotency.known(use);
    if (known !== undefined) return this.find(known);
    const { pack, asOf, at, results, score } = await this.judge.evaluate(order);
    const open = results.filter((result) => result.score === null).map(({ identifier }) => identifier);
    if (open.length > 0)
      throw new Problem(
        'refused',
        'attestation.open',
        `These requirements need a manual assessment: ${open.join(', ')}. Add the assessments to the "reviews" member.`,
      );
    const latest = new Date(at.getTime() + pack.reviewEveryDays * DAY_MS);
    const expiresAt = order.expiresAt ?? latest;
    if (expiresAt <= at || expiresAt > latest)
      throw new Problem(
        'refused',
        'attestation.expiry',
        `The expiry must be in the future and at most ${pack.reviewEveryDays} days away.`,
      );
    const id = use?.resource ?? newId();
    const { scope = null, statement, evidence } = order;
    const reviewer = order.reviewer ?? caller.name;
    const what = { packId: pack.id, pack, scope, asOf, results, score };
    const said = { statement, reviewer, evidence: [...evidence], createdBy: caller.id, expiresAt };
    const made = await this.db.transaction(async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      await tx.insert(Attestation, { id, ...what, ...said });
      const detail = { pack: pack.id, scope, asOf, score, reviewer, expiresAt: expiresAt.toISOString() };
      const target = { kind: 'attestation', id };
      await this.audit.appendBy(tx, caller, { action: 'inventory.attested', target, detail });
      // Results for other days do not trigger alerts.
      if (asOf === dayOf(at)) await this.judge.recordEvents(tx, { pack, results, scope: order.scope });
      return id;
    });
    return this.find(made);
  }

  /** @throws Problem 404 `attestation.missing`. */
  async find(id: string): Promise<Attestation> {
    const row = await this.db.manager.findOneBy(Attestation, { id });
    if (row === null) throw missing('attestation');
    return row;
  }

  /** Returns attestations, newest first. */
  async list(pack: string | undefined, limit?: number, cursor?: string): Promise<Page<Attestation>> {
    const list = `attestations ${pack ?? ''}`;
    const query = this.db.createQueryBuilder(Attestation, 'a');
    if (pack !== undefined) query.andWhere('a.packId = :pack', { pack });
    return this.cursors.newest(list, query, { limit, cursor });
  }
}
