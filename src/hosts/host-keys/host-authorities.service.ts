import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { HostAuthority } from '../model/host-key.entity.js';
import { readHostKeyLine, unreadableHostKey } from './public-key-blob.js';

/** HostAuthorities manages the authorities whose host certificates are trusted. */
@Injectable()
export class HostAuthorities {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  list(): Promise<HostAuthority[]> {
    return this.db.manager.find(HostAuthority, { order: { id: 'ASC' }, take: 200 });
  }

  async add(caller: Caller, name: string, line: string, use?: IdempotentUse): Promise<HostAuthority> {
    const key = readHostKeyLine(line);
    if (key === undefined) throw unreadableHostKey(line);
    const { type, fingerprint, blob } = key;
    const id = use?.resource ?? newId();
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      await tx.insert(HostAuthority, { id, name, type, fingerprint, blob, createdBy: caller.name });
      await this.audit.appendBy(tx, caller, entry('host-authority.added', id, { name, fingerprint }));
      return id;
    };
    const known = () => new Problem('conflict', 'host-authority.known', 'This authority is already trusted.');
    const added = await writeUnique(this.db, insert, known);
    return await this.find(added);
  }

  private async find(id: string, tx: EntityManager = this.db.manager): Promise<HostAuthority> {
    const row = await tx.findOneBy(HostAuthority, { id });
    if (row === null) throw missing('host-authority');
    return row;
  }

  /** Removes an authority. The service can no longer log in to `ca` hosts whose keys no other trusted authority has certified. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { name, fingerprint } = await this.find(id, tx);
      await tx.delete(HostAuthority, { id });
      await this.audit.appendBy(tx, caller, entry('host-authority.removed', id, { name, fingerprint }));
    });
  }
}

function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'host-authority', id }, detail };
}
