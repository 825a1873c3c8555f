import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { type KeyIdentity, KeyVault } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { changeSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { SshAuthority } from './ssh-authority.entity.js';
import type { AuthorityKeyType, CertificateKind } from './ssh-certificate.js';
import { confirmRead } from '../../platform/database/statements.js';

export interface AuthorityOrder {
  readonly name: string;
  readonly kind: CertificateKind;
  readonly type: AuthorityKeyType;
}

/** SshAuthoritiesService manages certificate authorities, whose keys are stored in the HSM. */
@Injectable()
export class SshAuthoritiesService {
  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Creates an authority whose key cannot leave the HSM. Returns the ID of the authority. */
  async create(caller: Caller, { name, kind, type }: AuthorityOrder, use?: IdempotentUse): Promise<string> {
    const known = await this.idempotency.known(use);
    if (known !== undefined) return known;
    const id = use?.resource ?? newId();
    const key = { ckaId: randomBytes(16), identity: authorityIdentity(id) };
    const { publicKey, evidence } = await this.vault.generate({ ...key, type });
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      await stillMay(tx, caller);
      await insertSealed(tx, SshAuthority, { id, name, kind, ckaId: key.ckaId, publicKey });
      await this.audit.appendBy(tx, caller, entry('ssh-ca.created', id, { name, kind, type, ...evidence }));
      return id;
    };
    const detail = `An authority named "${name}" already exists.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    const taken = () => new Problem('conflict', 'ssh-ca.name-taken', detail, { errors });
    const made = await writeUnique(this.db, insert, taken).catch(async (error: unknown) => {
      // The row was rejected, so nothing uses the key, and the key is destroyed. After an interrupted commit, the outcome is unknown, so the key is kept.
      if (error instanceof Problem) await this.vault.destroy(key);
      throw error;
    });
    if (made !== id) await this.vault.destroy(key);
    return made;
  }

  /**
   * Retires an authority. In state `RETIRING`, the authority no longer issues certificates, but hosts still trust it, so that another authority can take over
   * without interruption.
   */
  async retire(caller: Caller, id: string, state: 'RETIRING' | 'RETIRED'): Promise<void> {
    await this.db.transaction(async (tx) => {
      const from = state === 'RETIRING' ? ('ACTIVE' as const) : ('RETIRING' as const);
      const action = `ssh-ca.${state.toLowerCase()}`;
      const moved = await changeSealed(tx, SshAuthority, { id, state: from }, { state });
      if (moved !== 1) {
        if (!(await tx.existsBy(SshAuthority, { id, state }))) throw await authorityRefusalOf(tx, id);
        // Repeating the call succeeds, because a caller may have missed the response.
        if (await this.audit.isRecorded(tx, action, id)) return confirmRead(tx);
      }
      await this.audit.appendBy(tx, caller, entry(action, id, {}));
    });
  }
}

/** Returns the attributes that an authority's key must have in the token. */
export function authorityIdentity(id: string): KeyIdentity {
  return { purpose: 'ssh-ca', owner: id };
}

export function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'ssh-ca', id }, detail };
}

export async function authorityRefusalOf(tx: EntityManager, id: string): Promise<Problem> {
  if (await tx.existsBy(SshAuthority, { id })) return inactive();
  return missing('ssh-ca');
}

export function inactive(): Problem {
  return new Problem(
    'conflict',
    'ssh-ca.inactive',
    'The authority does not allow this operation in its current state.',
  );
}
