import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { ApprovalsService, type ApprovalRequirement, type PolicyFacts } from '../../approvals/approvals.service.js';
import type { Caller } from '../../access/caller.js';
import { Host } from '../../hosts/model/host.entity.js';
import type { SshKey } from '../keys/ssh-key.entity.js';
import type { Account } from './rotation-places.js';

export interface JudgedRotation {
  readonly revision: number;
  /** Absent: nobody needs to approve. */
  readonly demand: ApprovalRequirement | undefined;
}

/** Asks the policies whether somebody must approve a rotation: for each host on its own, and all of them must be satisfied. */
@Injectable()
export class RotationRequirements {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
  ) {}

  async judge(caller: Caller, key: SshKey, places: readonly Account[], custody: string): Promise<JudgedRotation> {
    const hosts = await this.db.manager.findBy(Host, { id: In([...new Set(places.map(({ hostId }) => hostId))]) });
    const common = { algorithm: [key.type], caller: [caller.id, caller.ownerId], 'metadata.custody': [custody] };
    const facts = places.map(({ hostId, account }): PolicyFacts => {
      const host = hosts.find(({ id }) => id === hostId);
      return { ...common, 'metadata.account': [account], ...fact('owner', key.owner), ...factsOf(host) };
    });
    const distinct = [...new Map(facts.map((one) => [JSON.stringify(one), one])).values()];
    const judged = await Promise.all(distinct.map((one) => this.approvals.judge('ssh-rotation', key.fingerprint, one)));
    return {
      revision: Math.min(...judged.map(({ revision }) => revision)),
      demand: joined(judged.map(({ demand }) => demand)),
    };
  }

  /** In the transaction that acts on a judgement. Throws Problem `approval.policies-changed`. */
  assertCurrent(tx: EntityManager, { revision }: JudgedRotation): Promise<void> {
    return this.approvals.assertCurrent(tx, revision);
  }
}

/** What a host does not say stays untold: a condition about it then holds. */
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

/** Every demand is to be satisfied: a group that two of them ask is asked once, for more. */
function joined(all: readonly (ApprovalRequirement | undefined)[]): ApprovalRequirement | undefined {
  const demands = all.filter((demand) => demand !== undefined);
  if (demands.length === 0) return undefined;
  const policies = new Map(demands.flatMap((demand) => demand.policies).map((policy) => [policy.id, policy]));
  const stages = new Map<string, ApprovalRequirement['stages'][number]>();
  for (const stage of demands.flatMap((demand) => demand.stages)) {
    const threshold = Math.max(stage.threshold, stages.get(stage.groupId)?.threshold ?? 0);
    stages.set(stage.groupId, { ...stage, threshold });
  }
  return {
    policies: [...policies.values()],
    stages: [...stages.values()],
    expiresInSeconds: Math.min(...demands.map(({ expiresInSeconds }) => expiresInSeconds)),
    commentRequired: demands.some(({ commentRequired }) => commentRequired),
    rejectThreshold: Math.min(...demands.map(({ rejectThreshold }) => rejectThreshold)),
  };
}
