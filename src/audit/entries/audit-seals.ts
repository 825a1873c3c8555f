import { Injectable } from '@nestjs/common';
import { createHash, createHmac } from 'node:crypto';
import { Config } from '../../platform/config/config.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { derivedKeys, isMadeByOneOf } from '../../platform/sealing/derived-keys.js';

/** The sealed fields: everything of an entry but its time, which the database sets. */
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

const SEAL_BYTES = 32;

/**
 * Seals entries as the service writes them (HMAC-SHA-256) with a key derived from SVC_JWT_SECRET: who can write to the database,
 * but does not know the settings, cannot forge an entry of the service.
 */
@Injectable()
export class AuditSeals {
  private readonly keys: readonly [Buffer, ...Buffer[]];

  constructor(config: Config) {
    this.keys = derivedKeys(config, 'sealwright audit entry');
  }

  sealOf(entry: SealedFields): Buffer {
    return createHmac('sha256', this.keys[0]).update(textOf(entry)).digest();
  }

  /** Whether the seal is right; false for an entry without one. */
  verifies(entry: SealedFields, seal: Buffer | null): boolean {
    return seal?.length === SEAL_BYTES && isMadeByOneOf(this.keys, textOf(entry), seal);
  }
}

/** Canonical text of an entry, the same before it is written and after it was read: as PostgreSQL stores text and jsonb. */
function textOf(entry: SealedFields): string {
  const { record, detail } = entry;
  return canonicalJson([
    entry.id,
    entry.action,
    entry.outcome,
    entry.actorKind,
    // Ill-formed text is stored with U+FFFD in its place.
    ...[entry.actorId, entry.actorName, entry.targetKind, entry.targetId].map((text) => text.toWellFormed()),
    entry.correlation.toWellFormed(),
    entry.source,
    JSON.parse(JSON.stringify(detail)) as unknown,
    record === null ? null : createHash('sha256').update(record).digest('hex'),
  ]);
}
