import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/unique-write.js';
import { Problem } from '../../platform/http/problem.js';
import { HostAuthority } from './host-authority.entity.js';
import { readPublicKeyLine } from './public-key-blob.js';

/** The authorities whose certificates are believed about hosts. */
@Injectable()
export class HostAuthorities {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {}

  list(): Promise<HostAuthority[]> {
    return this.db.manager.find(HostAuthority, { order: { id: 'ASC' }, take: 200 });
  }

  async add(caller: Caller, name: string, line: string): Promise<HostAuthority> {
    const key = readPublicKeyLine(line);
    if (key === undefined || key.type.includes('-cert-')) {
      const errors = [{ pointer: '/publicKey', detail: 'must be a line like ssh-ed25519 AAAA…' }];
      throw new Problem('malformed', 'host-key.unreadable', '/publicKey: must be a line like ssh-ed25519 AAAA….', {
        errors,
      });
    }
    const { type, fingerprint, blob } = key;
    const row = { id: newId(), name, type, fingerprint, blob, createdBy: caller.name };
    const insert = async (tx: EntityManager) => {
      await tx.insert(HostAuthority, row);
      await this.audit.appendBy(tx, caller, entry('host-authority.added', row.id, { name, fingerprint }));
    };
    const known = () => new Problem('conflict', 'host-authority.known', 'The authority is trusted already.');
    await writeUnique(this.db, insert, known);
    return await this.db.manager.findOneByOrFail(HostAuthority, { id: row.id });
  }

  /** Hosts with the policy `ca` that only it certified are not logged in to any more. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const row = await tx.findOneBy(HostAuthority, { id });
      if (row === null) throw new Problem('missing', 'host-authority.missing', 'There is no authority with this id.');
      await tx.delete(HostAuthority, { id });
      const { name, fingerprint } = row;
      await this.audit.appendBy(tx, caller, entry('host-authority.removed', id, { name, fingerprint }));
    });
  }
}

function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'host-authority', id }, detail };
}
