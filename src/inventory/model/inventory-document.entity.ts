import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { IngestOutcome } from './document.js';

/** A document that was ingested, by the hash of its bytes: the same bytes of the same source change nothing. */
@Entity('inventory_document')
@Unique('inventory_document_digest', ['sourceId', 'digest'])
@Index('inventory_document_received', ['receivedAt', 'id'])
@Index('inventory_document_serial', ['serialNumber', 'version'])
export class InventoryDocument {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sourceId: string;

  /** SHA-256 of the bytes as they came. */
  @Column('bytea')
  digest: Buffer;

  /** Hash of its content; documents of one hash share the meaning of their bom-refs. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  @Column('text')
  format: string;

  @Column('text', { nullable: true })
  serialNumber: string | null;

  /** Any whole number in JSON; a bigint travels as text. */
  @Column('bigint', { nullable: true })
  version: string | null;

  @Column('timestamptz', { nullable: true })
  documentTime: Date | null;

  @Column('text')
  receivedFrom: string;

  @Column('timestamptz', { default: () => 'now()' })
  receivedAt: Date;

  @Column('jsonb')
  outcome: IngestOutcome;
}
