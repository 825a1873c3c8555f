import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditSearch1796300000001 implements MigrationInterface {
  name = 'AuditSearch1796300000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP INDEX "public"."audit_entry_target"
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_target" ON "audit_entry" ("target_id", "at")
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_at" ON "audit_entry" ("at", "id")
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_action" ON "audit_entry" ("action", "at")
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_actor" ON "audit_entry" ("actor_id", "at")
        `);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_not_done" ON "audit_entry" ("at")
            WHERE outcome <> 'done'
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    for (const name of ['not_done', 'actor', 'action', 'at', 'target'])
      await queryRunner.query(`DROP INDEX "public"."audit_entry_${name}"`);
    await queryRunner.query(`
            CREATE INDEX "audit_entry_target" ON "audit_entry" ("target_id")
        `);
  }
}
