import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { RowRetention, type RetentionRule } from '../../platform/work/row-retention.js';

/**
 * Deletes data that the service no longer needs. Data is deleted only if a retention setting is configured. Data in use is never deleted: the newest document
 * of each source, documents with a serial number (other documents may link to them), pending results and open alerts. The audit log and the requests that it
 * records, such as signing requests and approvals, are always kept.
 */
@Injectable()
export class ConfiguredRetention {
  constructor(old: RowRetention, { keptDays }: Config) {
    // IDs are created with their rows and are chronological (UUIDv7), so the primary key finds old rows.
    const forget = (days: number, rule: Omit<RetentionRule, 'since' | 'days'>) => {
      if (days > 0) old.forget({ ...rule, since: 'id', days });
    };
    forget(keptDays.documents, {
      table: 'inventory_document',
      where: `t.serial_number IS NULL AND t.received_at < now() - interval '${keptDays.documents} days'
        AND NOT EXISTS (SELECT FROM inventory_source s WHERE s.id = t.source_id AND s.document_id = t.id)`,
    });
    forget(keptDays.scanResults, { table: 'scan_result', where: `t.outcome <> 'PENDING'` });
    forget(keptDays.alerts, {
      table: 'alert',
      where: `t.status = 'RESOLVED' AND t.resolved_at < now() - interval '${keptDays.alerts} days'`,
    });
    forget(keptDays.alerts, {
      table: 'alert_notification',
      where: 'NOT EXISTS (SELECT FROM alert a WHERE a.id = t.alert_id)',
    });
  }
}
