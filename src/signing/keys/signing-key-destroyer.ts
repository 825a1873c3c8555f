import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import { holdsNow } from '../../auth/rights/credential-rights.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { leaseMs, SIGNING_ACTOR } from '../model/signing-jobs.js';
import { WORKER_ID, backOff, lockDue, whenDue } from '../../platform/jobs/claim.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { changeKey } from './change-key.js';
import { type KeyPurpose, SigningKey, SigningKeyDestruction } from './signing-key.entity.js';
import { identityOf } from './signing-key-version.entity.js';

/** One attempt at one key: the fence that everything it writes must pass. */
interface Claim {
  readonly keyId: string;
  readonly name: string;
  readonly purpose: KeyPurpose;
  readonly attempt: number;
}

interface LivingVersion {
  readonly version: number;
  readonly ckaId: Buffer;
  readonly sealed: boolean;
}

/** DUE_DESTRUCTION selects destructions whose waiting period has ended. */
export const DUE_DESTRUCTION = {
  table: 'signing_key_destruction',
  join: 'JOIN signing_key k ON k.id = t.key_id',
  where: 't.finished_at IS NULL AND t.destroy_at <= now() AND (t.lease_until IS NULL OR t.lease_until < now())',
  order: 't.destroy_at',
};
/** Maximum clock skew between a process, which dates destructions, and the database. */
const MAX_CLOCK_MS = 5 * 60_000;
const FIRST_PAUSE_SECONDS = 2;
const MAX_PAUSE_SECONDS = 3600;

/**
 * Destroys private keys after their waiting period. The intent (DESTROYING) is committed before the HSM is called, and the end of each version after it. If a
 * killed process has destroyed a version in the token without recording it, the version is found missing.
 */
@Injectable()
export class SigningKeyDestroyer {
  private readonly logger = new Logger(SigningKeyDestroyer.name);

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly config: Config,
    private readonly ledger: RightsLedger,
  ) {}

  /** Carries out due destructions, one key after the other. While the HSM is unavailable nothing is started. */
  async destroyDue(stopping: () => boolean): Promise<void> {
    while (this.vault.health().up && !stopping()) {
      const claim = await this.claim();
      if (claim === undefined) return;
      try {
        for (const version of await this.living(claim)) await this.destroyVersion(claim, version);
        await this.end(claim);
      } catch (error) {
        await this.postpone(claim, error);
      }
    }
  }

  private claim(): Promise<Claim | undefined> {
    return whenDue(this.db, DUE_DESTRUCTION, async (tx) => {
      const columns = 'to_jsonb(t) AS plan, to_jsonb(k) AS key';
      const [row] = await lockDue<{ plan: JsonRow; key: JsonRow }>(tx, {
        ...DUE_DESTRUCTION,
        columns,
        limit: 1,
        locks: 't, k',
      });
      if (row === undefined) return undefined;
      const due = vouchedDue(tx, row, await this.ledger.latest());
      if (due === undefined || !(await this.isStillOrdered(tx, due))) return this.pass(tx, row);
      const [[begun]]: [{ attempt: number }[], number] = await tx.query(
        `UPDATE signing_key_destruction SET worker = $2, attempt = attempt + 1, lease_until = now() + $3 * interval '1 ms'
         WHERE key_id = $1 RETURNING attempt`,
        [due.keyId, WORKER_ID, leaseMs(this.config)],
      );
      await changeKey(tx, due.keyId, ({ state }) => state === 'PENDING_DESTRUCTION', { state: 'DESTROYING' });
      const claim = { ...due, attempt: begun?.attempt ?? 0 };
      await this.record(tx, claim, 'signing-key.destroying', {});
      return claim;
    });
  }

  /** A key whose rows were changed in the database keeps its private keys, and does not stop the destruction of others. */
  private async pass(tx: EntityManager, { plan }: { readonly plan: JsonRow }): Promise<undefined> {
    await tx.query(
      `UPDATE signing_key_destruction SET lease_until = now() + $2 * interval '1 second' WHERE key_id = $1`,
      [plan['key_id'], MAX_PAUSE_SECONDS],
    );
  }

  /**
   * Reports whether the requester of a destruction may still schedule it: a destroyed private key cannot be restored. A destruction that has begun is
   * always completed. If the requester has lost the right, the key remains pending until the destruction is called off or scheduled again.
   */
  private async isStillOrdered(tx: EntityManager, { keyId, name }: Omit<Claim, 'attempt'>): Promise<boolean> {
    const [order]: { kind: string; id: string; actor: string; behind: string[] | null; begun: boolean }[] =
      await tx.query(
        `SELECT e.actor_kind AS kind, e.actor_id AS id, e.actor_name AS actor, e.detail -> 'behind' AS behind, k.state = 'DESTROYING' AS begun FROM audit_entry e
       JOIN signing_key k ON k.id = $1::uuid
       WHERE e.target_id = $1::text AND e.action = 'signing-key.destruction-scheduled' AND e.outcome = 'done' ORDER BY e.at DESC LIMIT 1`,
        [keyId],
      );
    if (order === undefined || order.begun || order.kind === 'system') return true;
    let isHeld = true;
    for (const giver of [order.id, ...(order.behind ?? [])]) isHeld &&= await holdsNow(tx, giver, ['admin:*']);
    if (isHeld) return true;
    this.logger.warn(
      `signing key ${name} is not destroyed: ${order.actor}, who scheduled the destruction, or somebody behind the credential used, may no longer do so; cancel it, or schedule it again`,
    );
    return false;
  }

  /**
   * Returns all versions of a key. Versions that were never created are included: their creation may have been abandoned after the token generated the
   * key pair. Versions marked as destroyed are included: their rows carry no seal, and checking the token is cheap.
   */
  private living({ keyId }: Claim): Promise<LivingVersion[]> {
    return this.db.query(
      `SELECT version, cka_id AS "ckaId", sealed IS NOT NULL AS sealed FROM signing_key_version
       WHERE key_id = $1 ORDER BY version`,
      [keyId],
    );
  }

  private async destroyVersion(claim: Claim, { version, ckaId, sealed }: LivingVersion): Promise<void> {
    const identity = identityOf(claim.purpose, { ...claim, version });
    const destroyed = sealed ? 0 : await this.vault.destroy({ ckaId, identity });
    await this.db.transaction(async (tx) => {
      const [, kept]: [unknown, number] = await tx.query(
        `UPDATE signing_key_destruction SET lease_until = now() + $3 * interval '1 ms' WHERE key_id = $1 AND attempt = $2`,
        [claim.keyId, claim.attempt, leaseMs(this.config)],
      );
      if (kept !== 1) throw new Error('another process has claimed the key');
      const [, ended]: [unknown, number] = await tx.query(
        `UPDATE signing_key_version SET destroyed_at = now(), sealed = NULL WHERE key_id = $1 AND version = $2 AND destroyed_at IS NULL`,
        [claim.keyId, version],
      );
      if (ended === 0 && destroyed === 0) return;
      const from = sealed ? 'database' : 'hsm';
      await this.record(tx, claim, 'signing-key.version-destroyed', { version, from, found: sealed || destroyed > 0 });
    });
  }

  private async end(claim: Claim): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE signing_key SET state = 'DESTROYED', revision = revision + 1, seal = NULL WHERE id = $1 AND state = 'DESTROYING'`,
        [claim.keyId],
      );
      if (moved !== 1) return;
      await tx.query(
        `UPDATE signing_key_destruction SET finished_at = now(), worker = NULL, lease_until = NULL WHERE key_id = $1`,
        [claim.keyId],
      );
      await this.record(tx, claim, 'signing-key.destroyed', { from: 'DESTROYING', to: 'DESTROYED' });
    });
  }

  /** It stays DESTROYING, and signs nothing; it is tried again, ever more seldom, until it is done. */
  private async postpone(claim: Claim, error: unknown): Promise<void> {
    const pause = backOff(claim.attempt, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS);
    const code = error instanceof Problem ? error.code : 'signing.internal';
    await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE signing_key_destruction SET worker = NULL, lease_until = now() + $3 * interval '1 second' WHERE key_id = $1 AND attempt = $2`,
        [claim.keyId, claim.attempt, pause],
      );
      if (moved === 1) await this.record(tx, claim, 'signing-key.destruction-failed', { code }, 'failed');
    });
  }

  private record(
    tx: EntityManager,
    { keyId: id, attempt }: Claim,
    action: string,
    detail: Record<string, unknown>,
    outcome?: NewEntry['outcome'],
  ): Promise<void> {
    const target = { kind: 'signing-key', id };
    const entry = { action, outcome, actor: SIGNING_ACTOR, target, correlation: id, detail: { attempt, ...detail } };
    return this.audit.append(tx, [entry]);
  }
}

/**
 * Returns the key of a due destruction if the service wrote both rows and the audit log records the destruction as scheduled and not cancelled; undefined
 * otherwise. The seals alone are not sufficient: earlier rows could have been restored together with their seals.
 */
function vouchedDue(
  tx: EntityManager,
  { plan: planned, key: keyed }: { readonly plan: JsonRow; readonly key: JsonRow },
  { destructions }: RightsHistory,
): Omit<Claim, 'attempt'> | undefined {
  const seals = sealsOf(tx);
  const [plan, key] = [seals.opened(SigningKeyDestruction, planned), seals.opened(SigningKey, keyed)];
  if (plan === null || key === null || plan.keyId !== key.id || plan.destroyAt.getTime() > Date.now() + MAX_CLOCK_MS)
    return undefined;
  if (!destructions.has(key.id)) return undefined;
  const isPlanned = key.state === 'PENDING_DESTRUCTION' || key.state === 'DESTROYING';
  return isPlanned ? { keyId: key.id, name: key.name, purpose: key.purpose } : undefined;
}
