import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * One row: which versions of the service the schema can be used by. A migration that removes what an earlier version reads or writes
 * raises the minimum (docs/upgrade.md). Versions are compared by their SCHEMA_EPOCH, a number that grows with each such migration.
 */
@Entity('schema_epoch')
@Check('schema_epoch_one_row', 'id = 1')
export class SchemaEpoch {
  /** Always 1. */
  @PrimaryColumn('int')
  id: number;

  /** The least SCHEMA_EPOCH of a version that may read. */
  @Column('int')
  minReader: number;

  /** The least SCHEMA_EPOCH of a version that may write. */
  @Column('int')
  minWriter: number;
}
