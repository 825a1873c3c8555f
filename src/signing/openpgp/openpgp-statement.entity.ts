import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';

export const STATEMENT_KINDS = ['certification', 'revocation'] as const;
export type StatementKind = (typeof STATEMENT_KINDS)[number];

/**
 * An OpenPGP self-signature of a key version: the certification of a user ID, or the revocation of the key. The row is the intent. The signature is in the
 * signing request with the same key, digest and hashed part. Rows never change.
 */
@Entity('openpgp_statement')
@Check('openpgp_statement_user', `(kind = 'certification') = (user_id IS NOT NULL)`)
@Index('openpgp_statement_of_key', ['keyId', 'keyVersion', 'id'])
export class OpenPgpStatement {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  keyId: string;

  @Column('int')
  keyVersion: number;

  @Column('text')
  kind: StatementKind;

  /** `certification` only. */
  @Column('text', { nullable: true })
  userId: string | null;

  /** Expiry of the key in the certification; null if it does not expire. */
  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;

  /** The hashed part of the signature (RFC 9580 section 5.2.4). */
  @Column('bytea')
  hashedPart: Buffer;

  @Column('text')
  algorithm: FormatDigest;

  @Column('bytea')
  digest: Buffer;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
