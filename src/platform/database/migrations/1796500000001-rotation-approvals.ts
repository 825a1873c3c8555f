import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RotationApprovals1796500000001 implements MigrationInterface {
  name = 'RotationApprovals1796500000001';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "ssh_rotation" ADD "approval_demand" jsonb`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "ssh_rotation" DROP COLUMN "approval_demand"`);
  }
}
