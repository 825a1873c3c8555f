import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { ApprovalsService, type PolicyJudgement, type PolicyFacts } from '../../../approvals/approvals.service.js';
import type { Caller } from '../../../access/caller.js';
import { Host } from '../../../hosts/model/host.entity.js';
import type { RotationPlan } from './rotation-planner.js';

/** Asks the policies who must approve a rotation: each host is judged on its own, and all requirements must be met. */
@Injectable()
export class RotationRequirements {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
  ) {}

  async judge(caller: Caller, { old: key, custody, accounts }: RotationPlan): Promise<PolicyJudgement> {
    const hosts = await this.db.manager.findBy(Host, { id: In([...new Set(accounts.map(({ hostId }) => hostId))]) });
    const common = { algorithm: [key.type], caller: [caller.id, caller.ownerId], 'metadata.custody': [custody] };
    const facts = accounts.map(({ hostId, account }): PolicyFacts => {
      const host = hosts.find(({ id }) => id === hostId);
      return { ...common, 'metadata.account': [account], ...fact('owner', key.owner), ...factsOf(host) };
    });
    const distinct = [...new Map(facts.map((one) => [JSON.stringify(one), one])).values()];
    const uses = distinct.map((one) => ({ key: key.fingerprint, facts: one }));
    return this.approvals.judgeAll('ssh-rotation', uses);
  }

  /**
   * Verifies, in the transaction that acts on a judgement, that the policies are unchanged and that the caller may open the approval they
   * require. Problem `approval.policies-changed`, `approval.too-many-open`.
   */
  async assertCurrent(tx: EntityManager, caller: Caller, { revision, demand }: PolicyJudgement): Promise<void> {
    await this.approvals.assertCurrent(tx, revision);
    if (demand !== undefined) await this.approvals.assertRoom(tx, caller);
  }
}

/** A fact that a host does not have is left out: a condition about it is then met. */
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
