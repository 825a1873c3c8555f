import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';

export const TIMESTAMP_STATUSES = ['PENDING', 'ISSUED', 'FAILED', 'LOST'] as const;
export type TimestampStatus = (typeof TIMESTAMP_STATUSES)[number];

/**
 * A timestamp token. The row is the intent: it is committed as PENDING before the HSM is called. LOST means that the process never reported the
 * result. The ID, a UUIDv7, is the serial number of the token: unique across all processes, and traceable to this row.
 */
@Entity('timestamp')
@Check('timestamp_signature', `(status = 'ISSUED') = (signature IS NOT NULL)`)
@Index('timestamp_pending', ['createdAt'], { where: `status = 'PENDING'` })
export class Timestamp {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  status: TimestampStatus;

  /** The hash value that was timestamped. */
  @Column('bytea')
  digest: Buffer;

  @Column('text')
  algorithm: FormatDigest;

  /** genTime of the token. */
  @Column('timestamptz')
  genTime: Date;

  @Column('uuid')
  keyId: string;

  @Column('int')
  keyVersion: number;

  /** Hash of the signed attributes, which is sent to the HSM. */
  @Column('bytea')
  signedDigest: Buffer;

  @Column('bytea', { nullable: true })
  signature: Buffer | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  /** The signing request whose signature was timestamped; null for an external query. */
  @Column('uuid', { nullable: true })
  requestId: string | null;

  @Column('text')
  ownerId: string;

  /** The requester: a user, an API key, or the service itself. */
  @Column('text')
  requestedBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
