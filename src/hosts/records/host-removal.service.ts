import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { HostKeyAlerts } from '../host-keys/host-key-alerts.js';
import { HostKey } from '../model/host-key.entity.js';
import { Host } from '../model/host.entity.js';
import { hostEntry } from './hosts.service.js';

/** Throws Problem if a module still needs the host. Runs in the transaction that removes the host and holds the host's row lock. */
type Check = (tx: EntityManager, hostId: string) => Promise<void>;

/** HostUses checks whether other modules use a host. Each module registers a check. */
@Injectable()
export class HostUses {
  private readonly checks: Check[] = [];

  serve(check: Check): void {
    this.checks.push(check);
  }

  /** Prevents the removal of hosts until the current transaction, which records a new use of the hosts, ends. The module's check then detects the use. */
  async lockHosts(tx: EntityManager, hostIds: readonly string[]): Promise<void> {
    await tx.query('SELECT 1 FROM host WHERE id = ANY($1::uuid[]) ORDER BY id FOR KEY SHARE', [hostIds]);
  }

  async assertNone(tx: EntityManager, hostId: string): Promise<void> {
    for (const check of this.checks) await check(tx, hostId);
  }
}

/** HostRemoval removes hosts that are not in use. */
@Injectable()
export class HostRemoval {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly uses: HostUses,
    private readonly keyAlerts: HostKeyAlerts,
  ) {}

  /** Removes the host and its keys if the host is still at `version`. */
  async remove(caller: Caller, id: string, version: number): Promise<void> {
    await this.db.transaction(async (tx) => {
      const host = await tx.findOne(Host, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (host === null) throw missing('host');
      if (host.version !== version) throw staleProblem(`/v1/hosts/${id}`);
      if (await tx.existsBy(Host, { jumpHostId: id }))
        throw new Problem(
          'conflict',
          'host.in-use',
          'This host is a jump host for other hosts. Set a different jump host for those hosts first.',
        );
      await this.uses.assertNone(tx, id);
      await tx.delete(HostKey, { hostId: id });
      await this.keyAlerts.removed(tx, host);
      await tx.delete(Host, { id });
      await this.audit.appendBy(tx, caller, hostEntry('host.removed', id, { name: host.name, address: host.address }));
    });
  }
}
