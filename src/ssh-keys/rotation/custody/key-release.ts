import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { missing } from '../../../platform/errors/problem.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { KeyCustody } from './key-custody.js';

export interface ReleasedKey {
  readonly key: SshKey;
  /** Private key in `openssh-key-v1` format, PEM-encoded. */
  readonly privateKey: string;
}

/** Maximum number of successors that are followed from one key. */
const MAX_GENERATIONS = 10_000;

/** KeyRelease returns private keys in the service's custody to their users. Each release is recorded in the audit log before the key is returned. */
@Injectable()
export class KeyRelease {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly custody: KeyCustody,
  ) {}

  /** Returns the private key of the current key. For a replaced key, returns the private key of the latest successor. */
  async release(caller: Caller, id: string): Promise<ReleasedKey> {
    const key = await this.inForce(id);
    const privateKey = await this.custody.open(key.id);
    await this.db.transaction((tx) =>
      this.audit.appendBy(tx, caller, {
        action: 'ssh-key.released',
        target: { kind: 'ssh-key', id: key.id },
        detail: { asked: id, fingerprint: key.fingerprint },
      }),
    );
    return { key, privateKey: privateKey.toString() };
  }

  private async inForce(id: string): Promise<SshKey> {
    const rows: { id: string }[] = await this.db.query(
      `WITH RECURSIVE line AS (
         SELECT id, replaced_by, 0 AS generation FROM ssh_key WHERE id = $1
         UNION ALL SELECT k.id, k.replaced_by, generation + 1 FROM ssh_key k JOIN line ON k.id = line.replaced_by WHERE generation < $2)
       SELECT id FROM line ORDER BY generation DESC LIMIT 1`,
      [id, MAX_GENERATIONS],
    );
    const key = rows[0] === undefined ? null : await this.db.manager.findOneBy(SshKey, { id: rows[0].id });
    if (key !== null) return key;
    throw missing('ssh-key');
  }
}
