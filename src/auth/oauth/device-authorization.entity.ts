import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/scopes.js';

export type DeviceAuthorizationStatus = 'PENDING' | 'APPROVED' | 'DENIED' | 'REDEEMED';

/** A device that waits for a person to say yes (RFC 8628). PENDING → APPROVED or DENIED; APPROVED → REDEEMED, once. */
@Entity('device_authorization')
@Check('device_authorization_person', `status IN ('PENDING', 'DENIED') OR user_id IS NOT NULL`)
@Index('device_authorization_expires', ['expiresAt'])
export class DeviceAuthorization {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  clientId: string;

  /** SHA-256 of the device code. */
  @Index('device_authorization_device_code', { unique: true })
  @Column('bytea')
  deviceCodeHash: Buffer;

  /** What the person types, without the hyphen. */
  @Index('device_authorization_user_code', { unique: true })
  @Column('text')
  userCode: string;

  /** What was asked for; after the approval, what was granted. */
  @Column('text', { array: true })
  scopes: Scope[];

  @Column('text')
  status: DeviceAuthorizationStatus;

  @Column('uuid', { nullable: true })
  userId: string | null;

  /** When the person who said yes had last shown who they are: no answer of theirs makes it later. */
  @Column('timestamptz', { nullable: true })
  authenticatedAt: Date | null;

  /** The identity provider that they came by, and its name for that session: what ends there ends the device's session too. */
  @Column('uuid', { nullable: true })
  providerId: string | null;

  @Column('text', { nullable: true })
  externalSession: string | null;

  /** Seconds between two polls. */
  @Column('int')
  pollSeconds: number;

  @Column('timestamptz', { nullable: true })
  polledAt: Date | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
