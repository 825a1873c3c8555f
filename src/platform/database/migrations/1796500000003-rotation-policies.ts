import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RotationPolicies1796500000003 implements MigrationInterface {
  name = 'RotationPolicies1796500000003';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "ssh_rotation_policy" (
                "id" uuid NOT NULL,
                "name" text NOT NULL,
                "max_age_days" integer NOT NULL,
                "key_owner" text,
                "most_per_hour" integer NOT NULL,
                "settings" jsonb NOT NULL,
                "made_by" jsonb NOT NULL,
                "owner_id" text NOT NULL,
                "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                "due_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "PK_e59e141b7621166d5f9b8949675" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`CREATE UNIQUE INDEX "ssh_rotation_policy_name" ON "ssh_rotation_policy" ("name")`);
    await queryRunner.query(`CREATE INDEX "ssh_rotation_policy_due" ON "ssh_rotation_policy" ("due_at")`);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "ssh_rotation_policy"`);
  }
}
