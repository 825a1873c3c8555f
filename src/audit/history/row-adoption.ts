import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../access/caller.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { AdoptionMark } from '../../platform/sealing/row-seal-epoch.js';
import type { SealGeneration } from '../../platform/sealing/sealed-entity.js';
import { acceptedPolicies } from './accepted-policies.js';
import { AuditService } from '../entries/audit.service.js';
import { LogKeys } from '../log/log-keys.js';

const ROW_SEALS: Actor = { kind: 'system', id: 'row-seals', name: 'row seals' };

/** RowAdoption records in the token and in the audit log that the rows of an earlier version were adopted. */
@Injectable()
export class RowAdoption implements AdoptionMark {
  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly keys: LogKeys,
    private readonly audit: AuditService,
  ) {}

  async isSet(generation: SealGeneration): Promise<boolean> {
    return (await this.vault.rowMark({ origin: this.keys.origin, generation, set: false })) !== undefined;
  }

  async set(generation: SealGeneration, adopted: Readonly<Record<string, number>>): Promise<void> {
    const policies = await acceptedPolicies(this.db.manager, Object.keys(adopted));
    const entry = {
      action: 'rows.adopted',
      actor: ROW_SEALS,
      target: { kind: 'service', id: 'row-seals' },
      correlation: 'row-seals',
      detail: { generation, ...adopted, ...policies },
    };
    await this.db.transaction((tx) => this.audit.append(tx, [entry]));
    await this.vault.rowMark({ origin: this.keys.origin, generation, set: true });
  }
}
