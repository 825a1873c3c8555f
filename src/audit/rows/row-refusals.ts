import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventBus, type Events } from '../../platform/events/events.js';
import { AuditService } from '../entries/audit.service.js';

/** RowRefusals records in the audit log that a row was refused because it does not match its seal. */
@Injectable()
export class RowRefusals {
  private readonly logger = new Logger(RowRefusals.name);

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    events: EventBus,
  ) {
    events.on('row.not-sealed', (event) => void this.record(event));
  }

  private async record({ table, key }: Events['row.not-sealed']): Promise<void> {
    const entry = {
      action: 'row.refused',
      outcome: 'refused' as const,
      actor: { kind: 'system' as const, id: 'row-seals', name: 'row seals' },
      target: { kind: table, id: key },
      correlation: 'row-seals',
    };
    try {
      await this.db.transaction((tx) => this.audit.append(tx, [entry]));
    } catch (error) {
      this.logger.error(`the refused row ${key} of ${table} is not in the audit log: ${String(error)}`);
    }
  }
}
