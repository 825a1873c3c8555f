import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { columns, advisoryLock } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import type { FoundSshKey, SshKeysFound } from '../../platform/queue/inbox-messages.js';
import { readPublicKeyLine } from '../../formats/ssh/public-key.js';
import { SshKeyFindings } from './ssh-key-findings.js';
import { truncate } from '../../platform/text/truncate.js';

/** A found key with a known fingerprint. A key without a fingerprint could not be recognized again. */
type Known = FoundSshKey & { readonly fingerprint: string };

/**
 * Maximum length of a path in bytes. An entry in the index of locations is limited to 2,704 bytes (nbtree), and a longer path must not prevent the host's other
 * keys from being recorded.
 */
const MAX_PLACE_BYTES = 2000;

function isIndexable({ path, account }: FoundSshKey): boolean {
  return Buffer.byteLength(path) + Buffer.byteLength(account) <= MAX_PLACE_BYTES;
}

/** SshKeySightings records the findings of scans: keys, their locations, and logins with them. Recording the same scan twice has no effect. */
@Injectable()
export class SshKeySightings {
  private readonly logger = new Logger(SshKeySightings.name);

  constructor(
    private readonly db: DataSource,
    private readonly findings: SshKeyFindings,
  ) {}

  async record(found: SshKeysFound): Promise<void> {
    const known = found.keys.filter((key): key is Known => key.fingerprint !== null && isIndexable(key));
    const left = found.keys.filter((key) => !isIndexable(key)).length;
    if (left > 0)
      this.logger.warn(
        `host ${found.hostId}: skipped ${left} keys because their path and account exceed ${MAX_PLACE_BYTES} bytes`,
      );
    await this.db.transaction(async (tx) => {
      // Serializes the messages of a host. Two concurrent messages could each mark the keys in the other message as gone.
      await advisoryLock(tx, `ssh-keys ${found.hostId}`);
      const ids = await this.keep(tx, known, found.seenAt);
      await this.keepLocations(tx, found, known, ids);
      const gone = await this.markGone(tx, found);
      await this.keepLogins(tx, found);
      await this.findings.refresh(tx, [...new Set([...ids.values(), ...gone])]);
    });
  }

  /** Stores the keys. Returns key IDs by fingerprint. */
  private async keep(tx: EntityManager, keys: readonly Known[], seenAt: string): Promise<Map<string, string>> {
    const rows = [...Map.groupBy(keys, ({ fingerprint }) => fingerprint).values()].map((same) => keyRow(same, seenAt));
    const { from, values } = columns(
      rows.sort((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1)),
      {
        id: 'uuid',
        fingerprint: 'text',
        type: 'text',
        bits: 'int',
        blob: 'bytea',
        comment: 'text',
        known_since: 'timestamptz',
        last_seen: 'timestamptz',
      },
    );
    const stored: { id: string; fingerprint: string }[] = await tx.query(
      `INSERT INTO ssh_key AS k (id, fingerprint, type, bits, blob, comment, known_since, last_seen)
       SELECT id, fingerprint, type, bits, blob, comment, known_since, last_seen FROM ${from}
       ON CONFLICT (fingerprint) DO UPDATE SET blob = coalesce(k.blob, excluded.blob), bits = coalesce(k.bits, excluded.bits),
         comment = coalesce(k.comment, excluded.comment), known_since = least(k.known_since, excluded.known_since),
         last_seen = greatest(k.last_seen, excluded.last_seen)
       RETURNING k.id, k.fingerprint`,
      values,
    );
    return new Map(stored.map(({ id, fingerprint }) => [fingerprint, id]));
  }

  private async keepLocations(
    tx: EntityManager,
    { hostId, seenAt }: SshKeysFound,
    keys: readonly Known[],
    ids: Map<string, string>,
  ): Promise<void> {
    const { from, values } = columns(locationRows(keys, ids), {
      id: 'uuid',
      key_id: 'uuid',
      kind: 'text',
      account: 'text',
      uid: 'int',
      path: 'text',
      line: 'int',
      occurrence: 'int',
      options: 'text',
      comment: 'text',
      passphrase: 'boolean',
      modified_at: 'timestamptz',
    });
    const next = values.length + 1;
    await tx.query(
      `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, uid, path, line, occurrence, options, comment,
         passphrase, modified_at, first_seen, last_seen)
       SELECT id, key_id, $${next}::uuid, kind, account, uid, path, line, occurrence, options, comment, passphrase,
         modified_at, $${next + 1}::timestamptz, $${next + 1}::timestamptz FROM ${from}
       ON CONFLICT (host_id, path, kind, account, key_id, occurrence) DO UPDATE SET uid = excluded.uid, line = excluded.line,
         options = excluded.options, comment = excluded.comment, passphrase = excluded.passphrase,
         proven_at = CASE WHEN ssh_key_location.modified_at IS NULL OR ssh_key_location.modified_at = excluded.modified_at
           THEN ssh_key_location.proven_at END,
         modified_at = excluded.modified_at, last_seen = excluded.last_seen, gone_at = NULL
       WHERE ssh_key_location.last_seen <= excluded.last_seen`,
      [...values, hostId, seenAt],
    );
  }

  /** Marks locations as gone. Returns the IDs of the keys that lost a location. */
  private async markGone(
    tx: EntityManager,
    { hostId, seenAt, readPaths, searched = [] }: SshKeysFound,
  ): Promise<string[]> {
    const [rows]: [{ keyId: string }[], number] = await tx.query(
      `UPDATE ssh_key_location SET gone_at = $1
       WHERE host_id = $2 AND gone_at IS NULL AND last_seen < $1 AND (path = ANY($3)
         OR kind = 'private-key' AND EXISTS (SELECT 1 FROM unnest($4::text[]) AS d WHERE starts_with(path, d || '/')))
       RETURNING key_id AS "keyId"`,
      [seenAt, hostId, readPaths, searched],
    );
    return rows.map(({ keyId }) => keyId);
  }

  private async keepLogins(tx: EntityManager, { hostId, uses }: SshKeysFound): Promise<void> {
    const latest = Map.groupBy(uses, ({ fingerprint, account }) => `${fingerprint} ${account}`);
    const rows = [...latest.values()].flatMap((same) => {
      const use = same.reduce((a, b) => (a.at > b.at ? a : b));
      if (Buffer.byteLength(use.account) > MAX_PLACE_BYTES) return [];
      return [{ ...use, evidence: truncate(use.evidence, 500), source: truncate(use.source, 100) }];
    });
    const { from, values } = columns(rows, {
      fingerprint: 'text',
      account: 'text',
      at: 'timestamptz',
      source: 'text',
      evidence: 'text',
    });
    await tx.query(
      `INSERT INTO ssh_key_login AS l (key_id, host_id, account, at, source, evidence)
       SELECT k.id, $${values.length + 1}::uuid, item.account, item.at, item.source, item.evidence
       FROM ${from} JOIN ssh_key k ON k.fingerprint = item.fingerprint
       ON CONFLICT (key_id, host_id, account) DO UPDATE
         SET at = excluded.at, source = excluded.source, evidence = excluded.evidence WHERE l.at < excluded.at`,
      [...values, hostId],
    );
  }
}

function keyRow(same: readonly Known[], seenAt: string) {
  const [first] = same as readonly [Known];
  const publicKey = same.find((key) => key.publicKey !== null)?.publicKey ?? '';
  // Only dates of root's files are used, because the owner of a file can set any modification time.
  const dates = [
    seenAt,
    ...same.flatMap(({ uid, modifiedAt }) => (uid === 0 && modifiedAt !== null ? [modifiedAt] : [])),
  ];
  return {
    id: newId(),
    fingerprint: first.fingerprint,
    type: first.type,
    bits: first.bits,
    blob: readPublicKeyLine(publicKey)?.blob ?? null,
    comment: same.find(({ comment }) => comment !== null && comment !== '')?.comment ?? null,
    known_since: dates.reduce((a, b) => (a < b ? a : b)),
    last_seen: seenAt,
  };
}

function locationRows(keys: readonly Known[], ids: Map<string, string>) {
  const counts = new Map<string, number>();
  return keys.map((key) => {
    const place = `${key.kind} ${key.account} ${key.path} ${key.fingerprint}`;
    const occurrence = (counts.get(place) ?? 0) + 1;
    counts.set(place, occurrence);
    return {
      id: newId(),
      key_id: ids.get(key.fingerprint) ?? '',
      kind: key.kind,
      account: key.account,
      uid: key.uid,
      path: key.path,
      line: key.line,
      occurrence,
      options: key.options,
      comment: key.comment,
      passphrase: key.passphrase,
      modified_at: key.modifiedAt,
    };
  });
}
