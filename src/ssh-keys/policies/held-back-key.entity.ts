import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A key that a policy would have had rotated, and did not. Told once, and kept until it is not so any more. */
@Entity('ssh_rotation_held_back')
export class HeldBackKey {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  policyId: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  keyId: string;

  /** Code of a Problem. */
  @Column('text')
  code: string;

  @Column('text')
  detail: string;

  /** When it was found first. */
  @Column('timestamptz', { default: () => 'now()' })
  since: Date;
}
