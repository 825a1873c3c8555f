import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { ApprovalsService, type PolicyJudgement, type PolicyFacts } from '../../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../../approvals/policies/key-use.port.js';
import type { Caller } from '../../../access/caller.js';
import { Host } from '../../../hosts/model/host.entity.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { RotationPlan } from './rotation-planner.js';

/** RotationRequirements determines from the policies who must approve a rotation. Each host is evaluated separately, and all requirements must be met. */
@Injectable()
export class RotationRequirements {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
  ) {}

  async judge(caller: Caller, { old: key, custody, accounts }: RotationPlan): Promise<PolicyJudgement> {
    const callers = [caller.id, caller.ownerId];
    const uses = await usesOfRotation(this.db.manager, { key, custody, accounts, callers });
    return this.approvals.judgeAll('ssh-rotation', uses);
  }

  /**
   * Asserts that the policies are unchanged since an evaluation, and that the caller may open the required approval. Runs inside the transaction that acts on
   * the evaluation. Throws Problem `approval.policies-changed`, `approval.too-many-open`.
   */
  async assertCurrent(tx: EntityManager, caller: Caller, { revision, demand }: PolicyJudgement): Promise<void> {
    await this.approvals.assertCurrent(tx, revision);
    if (demand !== undefined) await this.approvals.assertRoom(tx, caller);
  }
}

/** Facts about a rotation that policies evaluate. */
interface JudgedRotation extends Pick<RotationPlan, 'custody' | 'accounts'> {
  /** Key to replace. */
  readonly key: SshKey;
  /** IDs of the caller and of the user behind the caller. */
  readonly callers: readonly string[];
}

/**
 * usesOfRotation returns the facts of a rotation that policies evaluate, based on the current host records. The result contains one use per distinct account.
 */
export async function usesOfRotation(
  tx: EntityManager,
  { key, custody, accounts, callers }: JudgedRotation,
): Promise<KeyUseToApprove[]> {
  const hosts = await tx.findBy(Host, { id: In([...new Set(accounts.map(({ hostId }) => hostId))]) });
  const common = { algorithm: [key.type], caller: callers, 'metadata.custody': [custody] };
  const facts = accounts.map(({ hostId, account }): PolicyFacts => {
    const host = hosts.find(({ id }) => id === hostId);
    return { ...common, 'metadata.account': [account], ...fact('owner', key.owner), ...factsOf(host) };
  });
  const distinct = [...new Map(facts.map((one) => [JSON.stringify(one), one])).values()];
  const formerKeys = await formerFingerprints(tx, key.id);
  return distinct.map((one) => ({ key: key.fingerprint, formerKeys, facts: one }));
}

/**
 * SQL predicate: a rotation in progress. A rotation in progress is treated as a replacement, because its new key may be rotated before the old key is retired.
 */
const IS_UNDER_WAY = 'finished_at IS NULL AND NOT dry_run';

async function formerFingerprints(tx: EntityManager, id: string): Promise<string[]> {
  const rows: { fingerprint: string }[] = await tx.query(
    `WITH RECURSIVE replaced AS (
       SELECT $1::uuid AS id UNION SELECT r.old FROM replaced p CROSS JOIN LATERAL (
         SELECT id AS old FROM ssh_key WHERE replaced_by = p.id
         UNION ALL SELECT key_id FROM ssh_rotation WHERE next_key_id = p.id AND ${IS_UNDER_WAY}) r)
     SELECT k.fingerprint FROM replaced p CROSS JOIN LATERAL (SELECT id, fingerprint FROM ssh_key WHERE id = p.id OFFSET 0) k
     WHERE k.id <> $1`,
    [id],
  );
  return rows.map(({ fingerprint }) => fingerprint);
}

/** successorFingerprints returns the fingerprints of the keys and of their successors that can still be rotated. */
export async function successorFingerprints(tx: EntityManager, fingerprints: readonly string[]): Promise<string[]> {
  const rows: { fingerprint: string }[] = await tx.query(
    `WITH RECURSIVE covered AS (
       SELECT id FROM ssh_key WHERE fingerprint = ANY($1::text[])
       UNION SELECT r.new FROM covered c CROSS JOIN LATERAL (
         SELECT replaced_by AS new FROM ssh_key WHERE id = c.id AND replaced_by IS NOT NULL
         UNION ALL SELECT next_key_id FROM ssh_rotation WHERE key_id = c.id AND next_key_id IS NOT NULL AND ${IS_UNDER_WAY}) r)
     SELECT k.fingerprint FROM covered c
       CROSS JOIN LATERAL (SELECT id, fingerprint, state, created_at FROM ssh_key WHERE id = c.id OFFSET 0) k
     WHERE k.state = 'ACTIVE' ORDER BY k.created_at, k.id`,
    [fingerprints],
  );
  return rows.map(({ fingerprint }) => fingerprint);
}

/** Returns the facts about a host, omitting facts that the host does not have. A condition on a missing fact evaluates to true. */
function factsOf(host: Host | undefined): PolicyFacts {
  const labels = Object.entries(host?.labels ?? {}).map(([name, value]) => [`metadata.label.${name}`, [value]]);
  return {
    ...fact('environment', host?.environment ?? null),
    ...fact('host', host?.name ?? null),
    ...Object.fromEntries(labels),
  } as PolicyFacts;
}

function fact(name: string, value: string | null): PolicyFacts {
  return value === null ? {} : { [`metadata.${name}`]: [value] };
}
