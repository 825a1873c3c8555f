import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ALERT_TABLES } from './baseline/alert-tables.js';
import { APPROVAL_TABLES } from './baseline/approval-tables.js';
import { AUDIT_TABLES } from './baseline/audit-tables.js';
import { AUTH_TABLES } from './baseline/auth-tables.js';
import { DISCOVERY_TABLES } from './baseline/discovery-tables.js';
import { HOST_TABLES } from './baseline/host-tables.js';
import { HSM_TABLES } from './baseline/hsm-tables.js';
import { INVENTORY_TABLES } from './baseline/inventory-tables.js';
import { PLATFORM_TABLES } from './baseline/platform-tables.js';
import { SCHEDULE_TABLES } from './baseline/schedule-tables.js';
import { SENSOR_TABLES } from './baseline/sensor-tables.js';
import { SIGNING_TABLES } from './baseline/signing-tables.js';
import { SSH_KEY_TABLES } from './baseline/ssh-key-tables.js';
import { tooOldFault, TooOldSchemaError } from './superseded-migrations.js';

const STATEMENTS: readonly string[] = [
  ...PLATFORM_TABLES,
  ...HSM_TABLES,
  ...AUDIT_TABLES,
  ...AUTH_TABLES,
  ...APPROVAL_TABLES,
  ...SIGNING_TABLES,
  ...HOST_TABLES,
  ...SSH_KEY_TABLES,
  ...DISCOVERY_TABLES,
  ...INVENTORY_TABLES,
  ...SENSOR_TABLES,
  ...SCHEDULE_TABLES,
  ...ALERT_TABLES,
];

/**
 * Creates the schema of an empty database. The baseline replaces 102 migrations. A database with all of these migrations continues unchanged, and a
 * database with only some of them is rejected.
 */
export class Baseline1798000048250 implements MigrationInterface {
  name = 'Baseline1798000048250';

  public async up(queryRunner: QueryRunner): Promise<void> {
    const rows = (await queryRunner.query('SELECT name FROM migrations')) as { name: string }[];
    const fault = tooOldFault(rows.map(({ name }) => name));
    if (fault !== undefined) throw new TooOldSchemaError(fault);
    if (rows.length > 0) return;
    for (const statement of STATEMENTS) await queryRunner.query(statement);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP VIEW judged_asset');
    const tables = STATEMENTS.flatMap((one) => /^CREATE (?:UNLOGGED )?TABLE ("\w+")/.exec(one)?.[1] ?? []);
    await queryRunner.query(`DROP TABLE ${tables.join()} CASCADE`);
    await queryRunner.query('DROP FUNCTION audit_entry_is_final, inventory_snapshot_is_final');
  }
}
