import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { SigningKeyReader, type SigningKeyWithVersion } from './signing-key.reader.js';
import { statesBefore } from './signing-key.entity.js';

/** Schedules the destruction of keys, and calls it off. SigningKeyDestroyer carries out those that are due. */
@Injectable()
export class SigningKeyDestructionService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly reader: SigningKeyReader,
  ) {}

  /** From the commit on the key signs nothing; after so many days its private keys are destroyed. Problem `signing-key.inactive`. */
  async schedule(caller: Caller, id: string, days: number): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(id);
    await this.db.transaction(async (tx) => {
      const [moved]: [{ from: string }[], number] = await tx.query(
        `UPDATE signing_key k SET state = 'PENDING_DESTRUCTION', revision = revision + 1
         FROM (SELECT id, state FROM signing_key WHERE id = $1 AND state = ANY($2) FOR UPDATE) was
         WHERE k.id = was.id RETURNING was.state AS from`,
        [id, statesBefore('PENDING_DESTRUCTION')],
      );
      if (moved[0] === undefined)
        throw new Problem('conflict', 'signing-key.inactive', 'The state of the key does not allow it.');
      const [row]: { destroyAt: Date }[] = await tx.query(
        `INSERT INTO signing_key_destruction (key_id, destroy_at) VALUES ($1, now() + $2 * interval '1 day')
         RETURNING destroy_at AS "destroyAt"`,
        [id, days],
      );
      const detail = { from: moved[0].from, to: 'PENDING_DESTRUCTION', days, destroyAt: row?.destroyAt };
      await this.audit.appendBy(tx, caller, {
        action: 'signing-key.destruction-scheduled',
        target: targetOf(id),
        detail,
      });
    });
    this.reader.forget(key);
    return this.reader.get(id);
  }

  /** The key is disabled then, whatever it was before: to sign again it has to be enabled. Problem `signing-key.not-pending`. */
  async callOff(caller: Caller, id: string): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(id);
    await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE signing_key SET state = 'DISABLED', revision = revision + 1 WHERE id = $1 AND state = 'PENDING_DESTRUCTION'`,
        [id],
      );
      if (moved !== 1)
        throw new Problem('conflict', 'signing-key.not-pending', 'No destruction of this key waits to be carried out.');
      await tx.query(`DELETE FROM signing_key_destruction WHERE key_id = $1`, [id]);
      const detail = { from: 'PENDING_DESTRUCTION', to: 'DISABLED' };
      await this.audit.appendBy(tx, caller, {
        action: 'signing-key.destruction-called-off',
        target: targetOf(id),
        detail,
      });
    });
    this.reader.forget(key);
    return this.reader.get(id);
  }
}

const targetOf = (id: string) => ({ kind: 'signing-key', id });
