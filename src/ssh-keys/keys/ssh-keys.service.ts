import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { keyBitsOf, sshFingerprintOf, publicKeyFault, readPublicKeyLine } from '../../formats/ssh/public-key.js';
import { SshKeyFindings } from './ssh-key-findings.js';
import { type Custody, SshKey } from './ssh-key.entity.js';

export interface KnownSshKey {
  /** Public key: `TYPE BASE64 [COMMENT]`. */
  readonly publicKey: string;
  readonly owner?: string;
  readonly custody?: Custody;
}

/** SshKeysService adds keys and changes their owner and custody. */
@Injectable()
export class SshKeysService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly findings: SshKeyFindings,
  ) {}

  /** Registers a key by its public key, and sets its owner and custody. Returns the ID of the key. A key that a scan has already found keeps its ID. */
  async enter(caller: Caller, { publicKey, owner, custody }: KnownSshKey, use?: IdempotentUse): Promise<string> {
    const read = readPublicKeyLine(publicKey);
    if (read === undefined) {
      const detail = publicKeyFault(publicKey);
      const errors = [{ pointer: '/publicKey', detail }];
      throw new Problem('malformed', 'ssh-key.unreadable', `/publicKey: ${detail}.`, { errors });
    }
    const fingerprint = sshFingerprintOf(read.blob);
    return this.db.transaction(async (tx) => {
      // A known key does not have the ID that was recorded with the Idempotency-Key.
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return (await tx.findOneByOrFail(SshKey, { fingerprint })).id;
      const [row]: { id: string; version: number }[] = await tx.query(
        `INSERT INTO ssh_key AS k (id, fingerprint, type, bits, blob, comment, owner, custody)
         VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, 'unknown'))
         ON CONFLICT (fingerprint) DO UPDATE SET blob = excluded.blob, owner = coalesce(excluded.owner, k.owner),
           custody = coalesce($8, k.custody), comment = coalesce(k.comment, excluded.comment), version = k.version + 1
         RETURNING id, version`,
        [newId(), fingerprint, read.type, keyBitsOf(read), read.blob, read.comment || null, owner, custody],
      );
      const { id, version: edit } = row as { id: string; version: number };
      await this.findings.refresh(tx, [id]);
      await this.audit.appendBy(tx, caller, {
        action: 'ssh-key.entered',
        target: { kind: 'ssh-key', id },
        detail: { fingerprint, owner, custody, edit },
      });
      return id;
    });
  }

  /** Changes the owner of a key if the key is still at `version`. */
  async assign(caller: Caller, id: string, version: number, owner: string | null): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx
        .createQueryBuilder()
        .update(SshKey)
        .set({ owner, version: () => 'version + 1' })
        .where({ id, version })
        .execute();
      if (affected !== 1) throw await this.absence(id);
      await this.findings.refresh(tx, [id]);
      await this.audit.appendBy(tx, caller, {
        action: 'ssh-key.assigned',
        target: { kind: 'ssh-key', id },
        detail: { owner, edit: version + 1 },
      });
    });
  }

  private async absence(id: string): Promise<Problem> {
    return (await this.db.manager.existsBy(SshKey, { id })) ? staleProblem(`/v1/keys/${id}`) : missing('ssh-key');
  }
}
