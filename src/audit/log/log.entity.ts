import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { LeafKind } from '../../verifier/log-verifier.js';

/** An audit entry that has no leaf yet. The row is committed with the entry and deleted by the sequencer. */
@Entity('log_waiting')
export class LogWaiting {
  @PrimaryColumn('uuid')
  entryId: string;
}

/** The entry of a leaf. Leaves are numbered without gaps, starting at 0. */
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

/** Up to 256 consecutive hashes of a level, 32 bytes each; see log-tiles.ts. */
@Entity('log_tile')
export class LogTile {
  @PrimaryColumn('int')
  level: number;

  @PrimaryColumn('bigint')
  index: string;

  @Column('bytea')
  hashes: Buffer;
}

/** Number of leaves in the tree, in a single row. */
@Entity('log_head')
export class LogHead {
  /** Always true. */
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  @Column('bigint')
  size: string;
}

/** A key that signs checkpoints. Its row is inserted before the HSM creates the key. A row without a public key is not used. */
@Entity('log_key')
export class LogKey {
  @PrimaryColumn('uuid')
  id: string;

  @Column('bytea')
  ckaId: Buffer;

  /** Permanent name of the log in checkpoints: `host:port/log` of SVC_PUBLIC_URL at the time the key was created. */
  @Column('text')
  origin: string;

  /** SubjectPublicKeyInfo, DER. */
  @Column('bytea', { nullable: true })
  publicKey: Buffer | null;

  /** Attributes of the key in the token (KeyEvidence). */
  @Column('jsonb', { nullable: true })
  evidence: object | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/**
 * A signed checkpoint. Checkpoints are kept, because each proves the state of the log at that time. Accepting a log removes only checkpoints of another
 * log.
 */
@Entity('log_checkpoint')
export class LogCheckpoint {
  /** Number of leaves. */
  @PrimaryColumn('bigint')
  size: string;

  @Column('bytea')
  root: Buffer;

  /** Signed note (C2SP tlog-checkpoint). */
  @Column('text')
  note: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;
}
