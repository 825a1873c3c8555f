import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { type Caller, othersBehindOrder } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/work/clock.js';
import { insertSealed } from '../../platform/sealing/sealed-rows.js';
import { changeKey } from './change-key.js';
import { SigningKeyReader } from './signing-key.reader.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';
import { SigningKeyDestruction, statesBefore } from './signing-key.entity.js';

const DAY_MS = 86_400_000;

/** SigningKeyDestructionService schedules and cancels the destruction of keys. SigningKeyDestroyer carries out due destructions. */
@Injectable()
export class SigningKeyDestructionService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly reader: SigningKeyReader,
    private readonly clock: Clock,
  ) {}

  /** Disables the key when the transaction commits. The private keys are destroyed after the given number of days. Throws Problem `signing-key.inactive`. */
  async schedule(caller: Caller, id: string, days: number): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(caller, id);
    await this.db.transaction(async (tx) => {
      const was = await changeKey(tx, id, ({ state }) => statesBefore('PENDING_DESTRUCTION').includes(state), {
        state: 'PENDING_DESTRUCTION',
      });
      if (was === undefined)
        throw new Problem('conflict', 'signing-key.inactive', 'The key cannot be destroyed in its current state.');
      const destroyAt = new Date(this.clock.now().getTime() + days * DAY_MS);
      await insertSealed(tx, SigningKeyDestruction, { keyId: was.id, destroyAt });
      const detail = {
        from: was.state,
        to: 'PENDING_DESTRUCTION',
        days,
        destroyAt,
        behind: othersBehindOrder(caller) ?? undefined,
      };
      await this.audit.appendBy(tx, caller, {
        action: 'signing-key.destruction-scheduled',
        target: targetOf(id),
        detail,
      });
    });
    this.reader.forget(key);
    return this.reader.get(caller, id);
  }

  /**
   * Cancels the destruction. The key is then disabled regardless of its previous state and must be enabled to sign again. Throws Problem
   * `signing-key.not-pending`.
   */
  async callOff(caller: Caller, id: string): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(caller, id);
    await this.db.transaction(async (tx) => {
      const was = await changeKey(tx, id, ({ state }) => state === 'PENDING_DESTRUCTION', { state: 'DISABLED' });
      if (was === undefined)
        throw new Problem('conflict', 'signing-key.not-pending', 'This key is not scheduled for destruction.');
      await tx.query(`DELETE FROM signing_key_destruction WHERE key_id = $1`, [id]);
      const detail = { from: 'PENDING_DESTRUCTION', to: 'DISABLED' };
      await this.audit.appendBy(tx, caller, {
        action: 'signing-key.destruction-called-off',
        target: targetOf(id),
        detail,
      });
    });
    this.reader.forget(key);
    return this.reader.get(caller, id);
  }
}

const targetOf = (id: string) => ({ kind: 'signing-key', id });
