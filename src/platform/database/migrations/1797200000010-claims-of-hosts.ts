import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a host says of private keys and of ages is a claim until it was proven. */
export class ClaimsOfHosts1797200000010 implements MigrationInterface {
  name = 'ClaimsOfHosts1797200000010';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            ALTER TABLE "ssh_key_location"
            ADD "proven_at" TIMESTAMP WITH TIME ZONE
        `);
    await queryRunner.query(`
            CREATE TABLE "ssh_rotation_held_back" (
                "policy_id" uuid NOT NULL,
                "key_id" uuid NOT NULL,
                "code" text NOT NULL,
                "detail" text NOT NULL,
                "since" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "ssh_rotation_held_back_key" PRIMARY KEY ("policy_id", "key_id")
            )
        `);
    // Dates of files that belong to others than root said how old keys are.
    await queryRunner.query(`
            UPDATE "ssh_key" k
            SET "known_since" = s."since"
            FROM (
                    SELECT o."id",
                        least(
                            o."created_at",
                            (
                                SELECT min(least(l."first_seen", CASE WHEN l."uid" = 0 THEN l."modified_at" END))
                                FROM "ssh_key_location" l
                                WHERE l."key_id" = o."id"
                            )
                        ) AS "since"
                    FROM "ssh_key" o
                ) s
            WHERE s."id" = k."id"
                AND k."known_since" < s."since"
        `);
    // A line feed in a comment was a second line of authorized_keys.
    await queryRunner.query(`
            UPDATE "ssh_key"
            SET "comment" = nullif(regexp_replace("comment", '[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029].*$', ''), '')
            WHERE "comment" ~ '[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029]'
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            DROP TABLE "ssh_rotation_held_back"
        `);
    await queryRunner.query(`
            ALTER TABLE "ssh_key_location" DROP COLUMN "proven_at"
        `);
  }
}
