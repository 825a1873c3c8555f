import { changeSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { NamedPageQuery } from '../../platform/http/page.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { readGivenKeySet, thumbprintsOf } from '../credentials/key-sets/key-set.js';
import { keyChange } from '../credentials/key-sets/key-renewals.js';
import { recordIssuerChange } from '../rights/secret-disclosures.js';
import { stillMay } from '../rights/still-may.js';
import { IssuerKeys } from './issuer-keys.js';
import { lockTokens } from '../credentials/sessions/session-grounds.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';

export interface WorkloadIssuerChange {
  readonly name: string;
  readonly enabled: boolean;
  /** A JWK Set, for issuers that cannot be reached; if undefined, the keys are discovered or remain unchanged. */
  readonly jwks: object | undefined;
}

export interface WorkloadIssuerOrder extends WorkloadIssuerChange {
  readonly issuer: string;
}

/** WorkloadIssuersService manages the trusted issuers of workload tokens. An issuer contains no secrets. */
@Injectable()
export class WorkloadIssuersService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly keys: IssuerKeys,
    private readonly idempotency: IdempotencyKeys,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('workload-issuer');
  }

  /** Adds an issuer. Its keys are fetched immediately, so that a wrong URL is detected. */
  async create(
    caller: Caller,
    { name, issuer, enabled, jwks }: WorkloadIssuerOrder,
    use?: IdempotentUse,
  ): Promise<WorkloadIssuer> {
    const keys = jwks === undefined ? await this.discovered(issuer) : uploaded(jwks);
    const id = use?.resource ?? newId();
    const keySource = jwks === undefined ? 'discovery' : 'uploaded';
    const work = async (tx: EntityManager) => {
      await stillMay(tx, caller);
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.read(earlier, tx);
      const times = { keysReadAt: new Date(), keysAskedAt: new Date() };
      await insertSealed(tx, WorkloadIssuer, { id, name, issuer, enabled, keySource, keys, ...times });
      if (keySource === 'uploaded') await this.keys.recordUpload(tx, caller, id);
      else await recordIssuerChange(tx, caller, id);
      const detail = { name, issuer, enabled, keySource, keys: thumbprintsOf(keys) };
      await this.record(tx, caller, 'workload-issuer.created', id, detail);
      return this.read(id, tx);
    };
    const detail = `A workload issuer with the URL "${issuer}" already exists.`;
    return writeUnique(this.db, work, () => new Problem('conflict', 'workload-issuer.taken', detail));
  }

  /** Replaces the mutable settings and, for an issuer with uploaded keys, the keys. */
  async change(caller: Caller, id: string, revision: number, order: WorkloadIssuerChange): Promise<WorkloadIssuer> {
    const { name, enabled, jwks } = order;
    const keys = jwks === undefined ? undefined : uploaded(jwks);
    return this.db.transaction(async (tx) => {
      await lockTokens(tx, 'workload issuer', id);
      const before = await this.read(id, tx);
      if (keys !== undefined && before.keySource !== 'uploaded') throw notUploaded();
      const renewed = keys === undefined ? {} : { keys: keys as never, keysReadAt: new Date() };
      const ended = before.enabled && !enabled ? { disabledAt: new Date() } : {};
      const change = { name, enabled, ...ended, ...renewed, revision: revision + 1, updatedAt: () => 'now()' };
      const changed = await changeSealed(tx, WorkloadIssuer, { id, revision }, change);
      if (changed !== 1) throw staleProblem(`/api/settings/workload-issuers/${id}`);
      if (before.enabled && !enabled) {
        await this.keys.endRuns(tx, caller, id);
        await renewTrusts(tx, id);
      }
      if (keys === undefined) await recordIssuerChange(tx, caller, id);
      else await this.keys.recordUpload(tx, caller, id);
      await this.record(tx, caller, 'workload-issuer.changed', id, { name, enabled });
      const turned = keys === undefined ? undefined : keyChange(before.keys ?? [], keys);
      if (turned !== undefined) await this.record(tx, caller, 'workload-issuer.keys-changed', id, turned);
      return this.read(id, tx);
    });
  }

  /** Deletes an issuer with all its trusts. Every process rejects tokens of the issuer within five seconds. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTokens(tx, 'workload issuer', id);
      const { name, issuer } = await this.read(id, tx);
      await this.keys.endRuns(tx, caller, id);
      const { affected: trusts } = await tx.delete(WorkloadTrust, { issuerId: id });
      await tx.delete(WorkloadIssuer, { id });
      await this.record(tx, caller, 'workload-issuer.removed', id, { name, issuer, trusts });
    });
  }

  async read(id: string, tx: EntityManager = this.db.manager): Promise<WorkloadIssuer> {
    const issuer = await tx.findOneBy(WorkloadIssuer, { id });
    if (issuer !== null) return issuer;
    throw missing('workload-issuer');
  }

  /** Returns issuers, newest first. */
  list(page: NamedPageQuery): Promise<Page<WorkloadIssuer>> {
    return this.cursors.newestNamed('workload-issuers', this.db.createQueryBuilder(WorkloadIssuer, 'issuer'), page);
  }

  private async discovered(issuer: string): Promise<PublicJwk[]> {
    try {
      return await this.keys.read({ issuer });
    } catch (cause) {
      throw unusable('/issuer', cause);
    }
  }
}

/** Increments the revision of each trust, so that the pending requests of its runs are withdrawn even if the issuer is enabled again. */
async function renewTrusts(tx: EntityManager, issuerId: string): Promise<void> {
  const trusts = await tx.find(WorkloadTrust, { where: { issuerId }, lock: { mode: 'pessimistic_write' } });
  for (const { id, revision } of trusts) await changeSealed(tx, WorkloadTrust, { id }, { revision: revision + 1 });
}

function uploaded(jwks: object): PublicJwk[] {
  try {
    return readGivenKeySet(jwks);
  } catch (cause) {
    throw unusable('/jwks', cause);
  }
}

function unusable(pointer: string, cause: unknown): Problem {
  const detail = cause instanceof Error ? cause.message : 'cannot be used';
  const errors = [{ pointer, detail }];
  return new Problem('refused', 'workload-issuer.unusable', `${pointer}: ${detail}.`, { errors, cause });
}

function notUploaded(): Problem {
  const detail =
    'The keys of this issuer are fetched through its discovery document. To upload keys instead, delete the issuer and create it again.';
  return new Problem('conflict', 'workload-issuer.discovered', detail);
}
