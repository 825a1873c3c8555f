import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import { allHoldNow } from '../../auth/rights/credential-rights.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { leaseMs, SIGNING_ACTOR } from '../signing-jobs.js';
import { WORKER_ID, dueRows, whenDue } from '../../platform/work/claim.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { type ClaimedRow, WorkQueue } from '../../platform/work/work-queue.js';
import { changeKey } from './change-key.js';
import { type KeyPurpose, SigningKey, SigningKeyDestruction } from './signing-key.entity.js';
import { identityOf } from './signing-key-version.entity.js';

/** The rows of a claimed destruction and of the key to be destroyed, as read by the claiming statement. */
interface ClaimedDestruction extends ClaimedRow {
  readonly plan: JsonRow;
  readonly key: JsonRow;
}

/** A claim for one attempt to destroy a key. */
interface Claim extends ClaimedRow {
  readonly name: string;
  readonly purpose: KeyPurpose;
  /** See `RightsHistory.destructions`. */
  readonly orderedBy: readonly string[];
  readonly hasBegun: boolean;
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
const LOST = 'another process has claimed the key';
/** Maximum clock skew between the database and the process that sets the time of a destruction. */
const MAX_CLOCK_MS = 5 * 60_000;
const MAX_PAUSE_SECONDS = 3600;
const QUEUE = {
  table: 'signing_key_destruction',
  key: 'key_id',
  attempt: 'attempt',
  dueAt: 'lease_until',
  open: 'finished_at IS NULL',
  columns: 'to_jsonb(t) AS plan, due.key',
  begin: `worker = '${WORKER_ID}'`,
  firstPauseSeconds: 2,
  longestPauseSeconds: MAX_PAUSE_SECONDS,
};
const CLAIM = dueRows({ ...DUE_DESTRUCTION, columns: 't.key_id, to_jsonb(k) AS key', limit: 1, locks: 't, k' });

/**
 * SigningKeyDestroyer destroys private keys after their waiting period. The intent (DESTROYING) is committed before the HSM is called, and the destruction of
 * each version is committed afterwards. If a process is killed between destroying a version in the token and recording the destruction, the next attempt
 * finds the version missing.
 */
@Injectable()
export class SigningKeyDestroyer {
  private readonly logger = new Logger(SigningKeyDestroyer.name);
  private readonly queue: WorkQueue<ClaimedDestruction>;

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    config: Config,
    private readonly ledger: RightsLedger,
  ) {
    this.queue = new WorkQueue(db, { ...QUEUE, leaseSeconds: leaseMs(config) / 1000 });
  }

  /** Runs due destructions one after the other. No destruction is started while the HSM is unavailable. */
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
      const [row] = await this.queue.claimFrom(CLAIM, [], tx);
      if (row === undefined) return undefined;
      const claim = vouchedClaim(tx, row, await this.ledger.latest());
      if (claim === undefined || !(await this.isStillOrdered(tx, claim))) return this.pass(tx, row);
      await changeKey(tx, claim.id, ({ state }) => state === 'PENDING_DESTRUCTION', { state: 'DESTROYING' });
      await this.record(tx, claim, 'signing-key.destroying', {});
      return claim;
    });
  }

  /** Skips a key whose rows fail the seal check. The key keeps its private keys, the claim is not counted, and other destructions continue. */
  private async pass(tx: EntityManager, row: ClaimedRow): Promise<undefined> {
    await this.queue.postpone(row, MAX_PAUSE_SECONDS, 'attempt = attempt - 1, worker = NULL', [], tx);
  }

  /**
   * Reports whether everyone who scheduled a destruction, according to the log, still has the permission to schedule it, because a destroyed private key
   * cannot be restored. A destruction that has begun is always completed. If someone has lost the permission, the key remains pending until the destruction
   * is cancelled or scheduled again.
   */
  private async isStillOrdered(tx: EntityManager, { name, orderedBy, hasBegun }: Claim): Promise<boolean> {
    if (hasBegun || (await allHoldNow(tx, orderedBy, ['admin:*']))) return true;
    this.logger.warn(
      `signing key ${name} was not destroyed: ${orderedBy[0]}, who scheduled the destruction, or the owner of the credential used, is no longer permitted to destroy it; cancel the destruction or schedule it again`,
    );
    return false;
  }

  /**
   * Returns all versions of a key. Versions that were never created are included, because the creation of a version may have been abandoned after the token
   * generated the key pair. Versions marked as destroyed are also included, because their rows have no seal and checking the token is cheap.
   */
  private living({ id }: Claim): Promise<LivingVersion[]> {
    return this.db.query(
      `SELECT version, cka_id AS "ckaId", sealed IS NOT NULL AS sealed FROM signing_key_version
       WHERE key_id = $1 ORDER BY version`,
      [id],
    );
  }

  private async destroyVersion(claim: Claim, { version, ckaId, sealed }: LivingVersion): Promise<void> {
    const identity = identityOf(claim.purpose, { keyId: claim.id, name: claim.name, version });
    const destroyed = sealed ? 0 : await this.vault.destroy({ ckaId, identity });
    await this.db.transaction(async (tx) => {
      if (!(await this.queue.write(claim, this.queue.lease, [], tx))) throw new Error(LOST);
      const [, ended]: [unknown, number] = await tx.query(
        `UPDATE signing_key_version SET destroyed_at = now(), sealed = NULL WHERE key_id = $1 AND version = $2 AND destroyed_at IS NULL`,
        [claim.id, version],
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
        [claim.id],
      );
      if (moved !== 1) return;
      const finished = 'finished_at = now(), worker = NULL, lease_until = NULL';
      if (!(await this.queue.write(claim, finished, [], tx))) throw new Error(LOST);
      await this.record(tx, claim, 'signing-key.destroyed', { from: 'DESTROYING', to: 'DESTROYED' });
    });
  }

  /**
   * Schedules a retry of a failed destruction. The key stays DESTROYING and signs nothing. Retries continue with increasing delays until the destruction
   * succeeds.
   */
  private async postpone(claim: Claim, error: unknown): Promise<void> {
    const code = error instanceof Problem ? error.code : 'signing.internal';
    await this.db.transaction(async (tx) => {
      const isOurs = await this.queue.retry(claim, 'worker = NULL', [], tx);
      if (isOurs) await this.record(tx, claim, 'signing-key.destruction-failed', { code }, 'failed');
    });
  }

  private record(
    tx: EntityManager,
    { id, attempt }: Claim,
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
 * Returns the key of a due destruction if the service wrote both rows and the audit log records the destruction as scheduled and not cancelled;
 * undefined otherwise. Seals alone are not sufficient, because older rows could have been restored together with their seals.
 */
function vouchedClaim(
  tx: EntityManager,
  { id, attempt, plan: planned, key: keyed }: ClaimedDestruction,
  { destructions }: RightsHistory,
): Claim | undefined {
  const seals = sealsOf(tx);
  const [plan, key] = [seals.opened(SigningKeyDestruction, planned), seals.opened(SigningKey, keyed)];
  if (plan === null || key === null || plan.keyId !== key.id || plan.destroyAt.getTime() > Date.now() + MAX_CLOCK_MS)
    return undefined;
  const orderedBy = destructions.get(key.id);
  const hasBegun = key.state === 'DESTROYING';
  if (orderedBy === undefined || !(hasBegun || key.state === 'PENDING_DESTRUCTION')) return undefined;
  return { id, attempt, name: key.name, purpose: key.purpose, orderedBy, hasBegun };
}
