import { Injectable } from '@nestjs/common';
import { createHmac, hash } from 'node:crypto';
import { Config } from '../../platform/config/config.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { type DerivedKeys, derivedKeys, isMadeByOneOf } from '../../platform/sealing/derived-keys.js';

/** The sealed fields: every field of an entry except the time, which the database sets. */
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
 * Seals entries with HMAC-SHA-256 and a key derived from SVC_JWT_SECRET when the service writes the entries, so that someone who can write to the database but
 * does not know the settings cannot forge an entry.
 */
@Injectable()
export class AuditSeals {
  private readonly keys: DerivedKeys;

  constructor(config: Config) {
    this.keys = derivedKeys(config, 'sealwright audit entry');
  }

  sealOf(entry: SealedFields): Buffer {
    const detail = JSON.parse(JSON.stringify(entry.detail)) as Record<string, unknown>;
    return createHmac('sha256', this.keys[0])
      .update(textOf({ ...entry, detail }))
      .digest();
  }

  /** Reports whether the seal is valid; false for an entry without a seal. */
  verifies(entry: SealedFields, seal: Buffer | null): boolean {
    return seal?.length === SEAL_BYTES && isMadeByOneOf(this.keys, textOf(entry), seal);
  }
}

/**
 * Returns the canonical JSON (RFC 8785) of an entry in PostgreSQL's representation of text and jsonb, so that the JSON is the same before the entry is
 * written and after the entry is read. JSON.stringify output is canonical for a list of strings.
 */
function textOf(entry: SealedFields): string {
  const texts = JSON.stringify([
    entry.id,
    entry.action,
    entry.outcome,
    entry.actorKind,
    // Lone surrogates are stored as U+FFFD.
    entry.actorId.toWellFormed(),
    entry.actorName.toWellFormed(),
    entry.targetKind.toWellFormed(),
    entry.targetId.toWellFormed(),
    entry.correlation.toWellFormed(),
    entry.source,
  ]);
  const record = entry.record === null ? 'null' : `"${hash('sha256', entry.record)}"`;
  return `${texts.slice(0, -1)},${canonicalJson(entry.detail)},${record}]`;
}
