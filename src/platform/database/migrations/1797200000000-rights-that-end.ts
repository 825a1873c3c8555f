import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rights end with their reason: who saw which secret, who invited, since when a session is fresh, why something was paused. */
export class RightsThatEnd1797200000000 implements MigrationInterface {
  name = 'RightsThatEnd1797200000000';

  public async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
            CREATE TABLE "secret_disclosure" (
                "id" uuid NOT NULL,
                "credential_kind" text NOT NULL,
                "credential_id" text NOT NULL,
                "shown_to_kind" text NOT NULL,
                "shown_to_id" text NOT NULL,
                "person_id" text NOT NULL,
                "occasion" text NOT NULL,
                "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
                CONSTRAINT "secret_disclosure_id" PRIMARY KEY ("id")
            )
        `);
    await queryRunner.query(`
            CREATE INDEX "secret_disclosure_credential" ON "secret_disclosure" ("credential_kind", "credential_id")
        `);
    for (const [table, column] of COLUMNS) await queryRunner.query(`ALTER TABLE "${table}" ADD ${column}`);
    await queryRunner.query(`
            CREATE INDEX "invitation_inviter" ON "invitation" ("inviter_person")
            WHERE accepted_at IS NULL AND revoked_at IS NULL
        `);
    // Whom secrets were shown to before, as the audit log has it.
    await queryRunner.query(`
            INSERT INTO secret_disclosure (id, credential_kind, credential_id, shown_to_kind, shown_to_id, person_id, occasion, at)
            SELECT gen_random_uuid(), split_part(e.action, '.', 1), coalesce(e.detail ->> 'replacedBy', e.target_id), e.actor_kind, e.actor_id,
                coalesce(k.owner_id, c.owner_id, e.actor_id), split_part(e.action, '.', 2), e.at
            FROM audit_entry e
                LEFT JOIN api_key k ON e.actor_kind = 'api-key' AND k.id::text = e.actor_id
                LEFT JOIN oauth_client c ON e.actor_kind = 'oauth-client' AND c.id::text = e.actor_id
            WHERE e.action IN ('api-key.created', 'api-key.rotated', 'oauth-client.created', 'oauth-client.secret-replaced')
                AND e.outcome = 'done' AND e.actor_kind IN ('user', 'api-key', 'oauth-client')
                AND NOT (e.action = 'oauth-client.created'
                    AND EXISTS (SELECT 1 FROM oauth_client p WHERE p.id::text = e.target_id AND p.secret_hash IS NULL))
        `);
    await queryRunner.query(`
            UPDATE invitation SET inviter_id = u.id::text, inviter_person = u.id::text FROM user_account u
            WHERE u.email = invitation.invited_by AND invitation.accepted_at IS NULL AND invitation.revoked_at IS NULL
        `);
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "invitation_inviter"`);
    for (const [table, column] of [...COLUMNS].reverse())
      await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN ${column.split(' ')[0]}`);
    await queryRunner.query(`DROP TABLE "secret_disclosure"`);
  }
}

const COLUMNS = [
  ['api_key', '"issued_to" text'],
  ['oauth_client', '"issued_to" text'],
  ['auth_session', '"stepped_up_at" TIMESTAMP WITH TIME ZONE'],
  ['device_authorization', '"authenticated_at" TIMESTAMP WITH TIME ZONE'],
  ['device_authorization', '"provider_id" uuid'],
  ['device_authorization', '"external_session" text'],
  ['invitation', '"inviter_id" text'],
  ['invitation', '"inviter_person" text'],
  ['schedule', '"paused_because" text'],
  ['schedule_run', '"asked_by" text'],
  ['ssh_rotation_policy', '"paused_because" text'],
  ['approval', `"requesters" text array NOT NULL DEFAULT '{}'`],
] as const;
