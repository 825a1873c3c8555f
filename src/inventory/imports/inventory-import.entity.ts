import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { IngestOrder, IngestPhase, PlainProblem } from '../ingest/ingest-order.js';
import type { IngestOutcome } from '../model/document.js';

/** WAITING → RUNNING → DONE, REFUSED (because of its content) or FAILED (for another reason); RUNNING again when its worker died. */
export const IMPORT_STATUSES = ['WAITING', 'RUNNING', 'DONE', 'REFUSED', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** A document that was accepted and is taken in later. Its body lies sealed in parts until it is. */
@Entity('inventory_import')
@Index('inventory_import_owner', ['ownerId', 'id'])
@Index('inventory_import_open', ['id'], { where: 'ended_at IS NULL' })
@Index('inventory_import_turn', ['turn', 'id'], { where: 'ended_at IS NULL' })
export class InventoryImport {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text', { default: 'WAITING' })
  status: ImportStatus;

  /** Length of the body as it came. */
  @Column('int')
  bytes: number;

  /** The order without the bytes. */
  @Column('jsonb')
  order: Omit<IngestOrder, 'bytes' | 'password'>;

  @Column('text')
  ownerId: string;

  @Column('text', { nullable: true })
  phase: IngestPhase | null;

  /** Assets of `total` that the phase has done with. */
  @Column('int', { default: 0 })
  done: number;

  @Column('int', { default: 0 })
  total: number;

  @Column('int', { default: 0 })
  attempts: number;

  /** Imports are run in this order, so that callers take turns. */
  @Column('int', { default: 0 })
  turn: number;

  /** Until then it belongs to its worker. */
  @Column('timestamptz', { default: () => 'now()' })
  leaseUntil: Date;

  @Column('jsonb', { nullable: true })
  outcome: IngestOutcome | null;

  @Column('jsonb', { nullable: true })
  problem: PlainProblem | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  startedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}

/** A part of a body, compressed and sealed: what was submitted may hold secrets, and none is stored in the clear. */
@Entity('inventory_import_part')
export class InventoryImportPart {
  @PrimaryColumn('uuid')
  importId: string;

  @PrimaryColumn('int')
  number: number;

  /** The part, compressed and sealed. */
  @Column('bytea')
  sealed: Buffer;
}
