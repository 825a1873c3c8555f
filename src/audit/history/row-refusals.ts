import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAlertEvents, type AlertEvent } from '../../platform/events/alert-events.js';
import { EventBus, type Events } from '../../platform/events/events.js';
import { AuditService, type NewEntry } from '../entries/audit.service.js';

const BY_ROW_SEALS = {
  outcome: 'refused',
  actor: { kind: 'system', id: 'row-seals', name: 'row seals' },
  correlation: 'row-seals',
} as const;

/**
 * RowRefusals records, in the audit log and as an alert, that the database was modified directly: a row does not match its seal, or a table does not match
 * the expected catalog.
 */
@Injectable()
export class RowRefusals {
  private readonly logger = new Logger(RowRefusals.name);

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    events: EventBus,
  ) {
    events.on('row.not-sealed', (event) => void this.refused(event));
    events.on('catalogue.changed', (event) => void this.changed(event));
  }

  private refused({ table, key }: Events['row.not-sealed']): Promise<void> {
    const target = { kind: table, id: key };
    const facts = {
      why: `Row ${key} of ${table} was not written by the service, or was modified directly in the database.`,
    };
    return this.record(
      { ...BY_ROW_SEALS, action: 'row.refused', target },
      { type: 'row.refused', subject: { ...target, name: `${table} ${key}` }, facts },
    );
  }

  private changed({ objects }: Events['catalogue.changed']): Promise<void> {
    const target = { kind: 'service', id: 'database' };
    const facts = { why: `The database contains objects that the migrations did not create: ${objects.join(', ')}.` };
    return this.record(
      { ...BY_ROW_SEALS, action: 'database.changed', target, detail: { objects } },
      { type: 'catalogue.changed', subject: { ...target, name: 'database' }, facts },
    );
  }

  private async record(entry: NewEntry, alert: AlertEvent): Promise<void> {
    try {
      await this.db.transaction(async (tx) => {
        await this.audit.append(tx, [entry]);
        await recordAlertEvents(tx, [alert]);
      });
    } catch (error) {
      this.logger.error(
        `unable to record ${entry.action} of ${entry.target.kind} ${entry.target.id}: ${String(error)}`,
      );
    }
  }
}
