import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { ApprovalsService, type ApprovalRequirement, type PolicyFacts } from '../../../approvals/approvals.service.js';
import type { Caller } from '../../../access/caller.js';
import { Host } from '../../../hosts/model/host.entity.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { Account } from '../model/rotation-places.js';

export interface JudgedRotation {
  readonly revision: number;
  /** Absent: nobody needs to approve. */
  readonly demand: ApprovalRequirement | undefined;
}

/** Asks the policies who must approve a rotation: each host is judged on its own, and all requirements must be met. */
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
    const uses = distinct.map((one) => ({ key: key.fingerprint, facts: one }));
    return this.approvals.judgeAll('ssh-rotation', uses);
  }

  /** In the transaction that acts on a judgement. Throws Problem `approval.policies-changed`. */
  assertCurrent(tx: EntityManager, { revision }: JudgedRotation): Promise<void> {
    return this.approvals.assertCurrent(tx, revision);
  }
}

/** A fact that a host does not have is left out: a condition about it then holds. */
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
