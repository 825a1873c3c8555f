import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { HostKey } from '../model/host-key.entity.js';
import { HostUses } from './host-uses.service.js';
import { Host } from '../model/host.entity.js';
import { hostEntry } from './hosts.service.js';

/** Removes hosts that nothing needs any more. */
@Injectable()
export class HostRemoval {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly uses: HostUses,
  ) {}

  /** Removes the host with its keys, if it is still at `version`. */
  async remove(caller: Caller, id: string, version: number): Promise<void> {
    await this.db.transaction(async (tx) => {
      const host = await tx.findOne(Host, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (host === null) throw new Problem('missing', 'host.missing', 'There is no host with this id.');
      if (host.version !== version) throw staleProblem(`/v1/hosts/${id}`);
      if (await tx.existsBy(Host, { jumpHostId: id }))
        throw new Problem('conflict', 'host.in-use', 'Other hosts are reached through this one; change them first.');
      await this.uses.assertNone(tx, id);
      await tx.delete(HostKey, { hostId: id });
      await tx.delete(Host, { id });
      await this.audit.appendBy(tx, caller, hostEntry('host.removed', id, { name: host.name, address: host.address }));
    });
  }
}
