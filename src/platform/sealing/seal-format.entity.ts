import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: since when secrets are sealed in a form that names the key. */
@Entity('seal_format')
export class SealFormatRow {
  @PrimaryColumn('boolean', { default: true, primaryKeyConstraintName: 'seal_format_one_row' })
  only: boolean;

  @Column('timestamptz')
  namesKeysFrom: Date;
}
