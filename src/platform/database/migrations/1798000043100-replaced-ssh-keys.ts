import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../online-index.js';

/** Adds an index on the successor of an SSH key: policies follow a key through its rotations. */
export class ReplacedSshKeys1798000043100 implements MigrationInterface {
  name = 'ReplacedSshKeys1798000043100';
  transaction = false;

  public async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexConcurrently(
      queryRunner,
      'ssh_key_replaced_by',
      'ssh_key',
      '("replaced_by") WHERE replaced_by IS NOT NULL',
    );
  }

  public async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "ssh_key_replaced_by"`);
  }
}
