import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { LeafKind } from '../../verifier/log-verifier.js';

/** An audit entry that has no number yet. It commits with the entry; the sequencer takes it. */
@Entity('log_waiting')
export class LogWaiting {
  @PrimaryColumn('uuid')
  entryId: string;
}

/** Which entry a leaf is over. Leaves are numbered without gaps, from 0. */
@Entity('log_leaf')
@Index('log_leaf_entry', ['entryId'])
export class LogLeaf {
  @PrimaryColumn('bigint')
  index: string;

  @Column('uuid')
  entryId: string;

  @Column('text')
  kind: LeafKind;
}

/** Up to 256 neighbouring hashes of a level, 32 bytes each; see log-tiles.ts. */
@Entity('log_tile')
export class LogTile {
  @PrimaryColumn('int')
  level: number;

  @PrimaryColumn('bigint')
  index: string;

  @Column('bytea')
  hashes: Buffer;
}

/** How many leaves the tree has: one row. */
@Entity('log_head')
export class LogHead {
  /** Always true. */
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  @Column('bigint')
  size: string;
}
