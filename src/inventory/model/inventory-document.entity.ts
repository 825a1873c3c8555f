import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { IngestOutcome } from './document.js';

/** An ingested document, identified by the hash of its bytes. Sending the same bytes from the same source again has no effect. */
@Entity('inventory_document')
@Unique('inventory_document_digest', ['sourceId', 'digest'])
@Index('inventory_document_received', ['receivedAt', 'id'])
@Index('inventory_document_serial', ['serialNumber', 'version'])
export class InventoryDocument {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  sourceId: string;

  /** SHA-256 of the bytes as received. */
  @Column('bytea')
  digest: Buffer;

  /** Hash of the content. A bom-ref refers to the same asset in all documents with the same hash. */
  @Column('bytea', { nullable: true })
  said: Buffer | null;

  @Column('text')
  format: string;

  @Column('text', { nullable: true })
  serialNumber: string | null;

  /** Version of the document, which can be any integer in JSON. The value is a string, because a bigint can exceed the range of a number. */
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
