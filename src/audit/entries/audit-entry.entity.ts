import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An entry of the audit log. Entries are append-only. */
@Entity('audit_entry')
@Index('audit_entry_at', ['at', 'id'])
@Index('audit_entry_action', ['action', 'at'])
@Index('audit_entry_actor', ['actorId', 'at'])
@Index('audit_entry_target', ['targetId', 'at'])
@Index('audit_entry_not_done', ['at'], { where: `outcome <> 'done'` })
@Index('audit_entry_correlation', ['correlation', 'at'], { where: `outcome <> 'done'` })
export class AuditEntry {
  @PrimaryColumn('uuid')
  id: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  /** A dotted name: `signing.signed`, `api-key.created`, `request.refused`. */
  @Column('text')
  action: string;

  @Column('text')
  outcome: AuditOutcome;

  @Column('text')
  actorKind: string;

  @Column('text')
  actorId: string;

  @Column('text')
  actorName: string;

  @Column('text')
  targetKind: string;

  @Column('text')
  targetId: string;

  /** X-Request-Id of the call that caused the entry, or the name of the background job. */
  @Column('text')
  correlation: string;

  /** IP address of the client; empty for background work. */
  @Column('text')
  source: string;

  @Column('jsonb', { default: {} })
  detail: Record<string, unknown>;

  /** The record of a signature, for independent verifiers. The record gets its own leaf in the log. */
  @Column('text', { nullable: true })
  record: string | null;

  /** HMAC that proves that the service wrote the entry (audit-seals.ts); null in entries of earlier versions. */
  @Column('bytea', { nullable: true })
  seal: Buffer | null;
}

export const AUDIT_OUTCOMES = ['done', 'failed', 'refused'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];
