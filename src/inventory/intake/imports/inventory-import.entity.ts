import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { IngestOrder, IngestPhase, PlainProblem } from '../staging/ingest-order.js';
import type { IngestOutcome } from '../../model/document.js';

/**
 * States of an import: WAITING → RUNNING → DONE, REFUSED (because of the content) or FAILED (for another reason). If the worker of an import is lost, another
 * worker runs the import again.
 */
export const IMPORT_STATUSES = ['WAITING', 'RUNNING', 'DONE', 'REFUSED', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** A document that was accepted to be ingested later. Until the import ends, the body is stored in sealed parts. */
@Entity('inventory_import')
@Index('inventory_import_owner', ['ownerId', 'id'])
@Index('inventory_import_open', ['id'], { where: 'ended_at IS NULL' })
@Index('inventory_import_turn', ['turn', 'id'], { where: 'ended_at IS NULL' })
@Index('inventory_import_source', { synchronize: false })
export class InventoryImport {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text', { default: 'WAITING' })
  status: ImportStatus;

  /** Size of the body as received, in bytes. */
  @Column('int')
  bytes: number;

  /** Parameters of the import, without the body and the password. */
  @Column('jsonb')
  order: Omit<IngestOrder, 'bytes' | 'password'>;

  @Column('text')
  ownerId: string;

  @Column('text', { nullable: true })
  phase: IngestPhase | null;

  /** Number of assets, out of `total`, that the current phase has processed. */
  @Column('int', { default: 0 })
  done: number;

  @Column('int', { default: 0 })
  total: number;

  @Column('int', { default: 0 })
  attempts: number;

  /** Position in the execution order, which alternates between callers. */
  @Column('int', { default: 0 })
  turn: number;

  /** Time at which the worker's lease on the import expires. */
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

/** A part of an import's body. The body may contain secrets, so no part is stored in plaintext. */
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
