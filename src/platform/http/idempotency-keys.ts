import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { columns, confirmRead } from '../database/statements.js';
import { RowRetention } from '../work/row-retention.js';
import { Problem } from '../errors/problem.js';
import { markReplay, rememberCall } from './replays.js';

/** IdempotencyKey maps an Idempotency-Key to the resource that the request created. The row is committed together with the resource. */
@Entity('idempotency_key')
export class IdempotencyKey {
  /** Caller that sent the key. Keys of different callers are independent. */
  @PrimaryColumn('text')
  principal: string;

  @PrimaryColumn('text')
  operation: string;

  @PrimaryColumn('text')
  key: string;

  /** SHA-256 of the canonical body. */
  @Column('bytea')
  fingerprint: Buffer;

  @Column('uuid')
  resource: string;

  @Index('idempotency_key_created_at')
  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** Number of hours for which a key is kept. Afterwards, the same key creates another resource. */
const KEPT_HOURS = 24;

/** IDEMPOTENCY_KEY describes the header in the OpenAPI document. */
export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  required: false,
  description: `Unique key that makes the request safe to retry for ${KEPT_HOURS} hours`,
};

/** IdempotentUse is one use of an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). */
export interface IdempotentUse {
  readonly principal: string;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the canonical body. */
  readonly fingerprint: Buffer;
  /** ID of the resource that this request would create. */
  readonly resource: string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** IdempotentCall is a request that carries an Idempotency-Key. */
export interface IdempotentCall extends Pick<IdempotentUse, 'principal' | 'operation' | 'resource'> {
  /** Body that must be identical when the request is repeated. */
  readonly body: unknown;
}

/**
 * idempotentUse returns an IdempotentUse for a request with an Idempotency-Key, or undefined without the header.
 *
 * @throws Problem 400 `idempotency.key` if the header is malformed
 */
export function idempotentUse(header: unknown, { body, ...call }: IdempotentCall): IdempotentUse | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new Problem(
      'malformed',
      'idempotency.key',
      'The Idempotency-Key header must consist of 1 to 255 visible ASCII characters.',
    );
  }
  return rememberCall({ ...call, key: header, fingerprint: fingerprintOf(body) });
}

/**
 * IdempotencyKeys makes a POST safe to repeat. The key and the resource are committed together, so a repeated request finds the resource. Keys are kept for
 * KEPT_HOURS.
 */
@Injectable()
export class IdempotencyKeys {
  constructor(private readonly db: DataSource) {}

  /**
   * Claims keys in the caller's transaction. Returns the resource ID for each use: `use.resource` if the key is new, otherwise the ID of the resource that
   * was created earlier. Waits for a concurrent transaction that claims the same key. If keys were used before and commits are synchronous, the commit
   * waits until a standby has the earlier resources.
   */
  async claim(tx: EntityManager, uses: readonly IdempotentUse[]): Promise<string[]> {
    if (uses.length === 0) return [];
    const shape = {
      principal: 'text',
      operation: 'text',
      key: 'text',
      fingerprint: 'bytea',
      resource: 'uuid',
    } as const;
    // A consistent order prevents deadlocks between groups that claim the same keys.
    const ordered = [...uses].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    const { from, values } = columns(ordered, shape);
    await tx.query(
      `INSERT INTO idempotency_key (principal, operation, key, fingerprint, resource)
       SELECT principal, operation, key, fingerprint, resource FROM ${from} ON CONFLICT DO NOTHING`,
      values,
    );
    const rows: IdempotentUse[] = await tx.query(
      `SELECT k.* FROM idempotency_key k JOIN ${from} ON k.principal = item.principal AND k.operation = item.operation AND k.key = item.key`,
      values,
    );
    const claimed = new Map(rows.map((row) => [placeOf(row), row]));
    const resources = uses.map((use) => claimed.get(placeOf(use))?.resource ?? use.resource);
    const repeated = uses.filter(({ resource }, index) => resource !== resources[index]);
    for (const use of repeated) markReplay(use);
    if (repeated.length > 0) await confirmRead(tx);
    return resources;
  }

  /**
   * Claims the key of one request. Returns the ID of the resource that an earlier request with this key created; undefined for the first request or without a
   * key. Throws if the key was used with another body.
   */
  async earlier(tx: EntityManager, use: IdempotentUse | undefined): Promise<string | undefined> {
    if (use === undefined) return undefined;
    const [resource] = await this.claim(tx, [use]);
    await this.assertSameBody(use, tx);
    return resource === use.resource ? undefined : resource;
  }

  /** Like `earlier`, but finds only completed requests and does not claim the key. For requests that require much work before the first write. */
  async known(use: IdempotentUse | undefined): Promise<string | undefined> {
    if (use === undefined) return undefined;
    const [row]: { resource: string }[] = await this.db.query(
      `SELECT resource FROM idempotency_key WHERE principal = $1 AND operation = $2 AND key = $3`,
      [use.principal, use.operation, use.key],
    );
    if (row === undefined) return undefined;
    await this.assertSameBody(use);
    markReplay(use);
    await confirmRead(this.db);
    return row.resource;
  }

  /**
   * Claims the key of a request whose response contains a secret, which is returned only once.
   *
   * @param place returns the path of the resource with this ID
   * @throws Problem 409 `idempotency.secret-shown` with this path as `instance`, unless this is the first request
   */
  async assertFirst(tx: EntityManager, use: IdempotentUse | undefined, place: (id: string) => string): Promise<void> {
    const earlier = await this.earlier(tx, use);
    if (earlier === undefined) return;
    const detail =
      'This request was already completed, and the secret in its response is returned only once. Renew the secret of the created resource, or delete the resource and use a new Idempotency-Key.';
    throw new Problem('conflict', 'idempotency.secret-shown', detail, { instance: place(earlier) });
  }

  /** Throws if the key was used with another body. */
  async assertSameBody(use: IdempotentUse, tx: EntityManager = this.db.manager): Promise<void> {
    const rows: { fingerprint: Buffer }[] = await tx.query(
      `SELECT fingerprint FROM idempotency_key WHERE principal = $1 AND operation = $2 AND key = $3`,
      [use.principal, use.operation, use.key],
    );
    if (rows[0]?.fingerprint.equals(use.fingerprint) === false) {
      throw new Problem(
        'refused',
        'idempotency.other-body',
        'This Idempotency-Key was already used with a different body. Use a new key.',
      );
    }
  }
}

/** OldIdempotencyKeys registers keys older than KEPT_HOURS for deletion. */
@Injectable()
export class OldIdempotencyKeys {
  constructor(old: RowRetention) {
    const key = ['principal', 'operation', 'key'];
    old.forget({ table: 'idempotency_key', where: 'true', since: 'created_at', days: KEPT_HOURS / 24, key });
  }
}

function placeOf({ principal, operation, key }: IdempotentUse): string {
  return `${principal} ${operation} ${key}`;
}

/** Returns the SHA-256 of JSON with sorted members, so that the order of members does not matter. */
function fingerprintOf(body: unknown): Buffer {
  const canonical = JSON.stringify(body, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256')
    .update(canonical ?? '')
    .digest();
}
