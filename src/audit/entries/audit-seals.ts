import { Injectable } from '@nestjs/common';
import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Config } from '../../platform/config/config.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';

/** What a seal is over: everything of an entry but its time, which the database gives. */
export interface SealedFields {
  readonly id: string;
  readonly action: string;
  readonly outcome: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly actorName: string;
  readonly targetKind: string;
  readonly targetId: string;
  readonly correlation: string;
  readonly source: string;
  readonly detail: Record<string, unknown>;
  readonly record: string | null;
}

const KEY_BYTES = 32;

/**
 * Seals entries as the service writes them (HMAC-SHA-256), by a key that comes from SVC_JWT_SECRET: who can write to the database,
 * but does not know the settings, cannot add an entry that passes for one of the service.
 */
@Injectable()
export class AuditSeals {
  private readonly key: Buffer;

  constructor(config: Config) {
    this.key = Buffer.from(hkdfSync('sha256', config.jwtSecret, '', 'sealwright audit entry', KEY_BYTES));
  }

  sealOf(entry: SealedFields): Buffer {
    return createHmac('sha256', this.key).update(textOf(entry)).digest();
  }

  /** False too for an entry without a seal. */
  holds(entry: SealedFields, seal: Buffer | null): boolean {
    if (seal?.length !== KEY_BYTES) return false;
    return timingSafeEqual(seal, this.sealOf(entry));
  }
}

/** The same before the entry is written and after it was read: as PostgreSQL keeps text and jsonb. */
function textOf(entry: SealedFields): string {
  const { record, detail } = entry;
  return canonicalJson([
    entry.id,
    entry.action,
    entry.outcome,
    entry.actorKind,
    // What is no well-formed text reaches the database with U+FFFD in its place.
    ...[entry.actorId, entry.actorName, entry.targetKind, entry.targetId].map((text) => text.toWellFormed()),
    entry.correlation.toWellFormed(),
    entry.source,
    JSON.parse(JSON.stringify(detail)) as unknown,
    record === null ? null : createHash('sha256').update(record).digest('hex'),
  ]);
}
