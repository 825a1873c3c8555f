import { Logger } from '@nestjs/common';
import type { EntityManager, FindOptionsWhere } from 'typeorm';
import type { SealedClass, SealedEntity } from '../../../platform/sealing/sealed-entity.js';
import { changeSealed } from '../../../platform/sealing/sealed-rows.js';
import type { PublicJwk } from '../../../formats/encoding/json-web-key.js';
import { thumbprintsOf } from './key-set.js';

/** Time after which keys are refetched. */
const FRESH_MS = 10 * 60_000;
/** Minimum time between requests to a publisher, regardless of the tokens presented. */
const PAUSE_MS = 30_000;
export const PAUSE_SECONDS = PAUSE_MS / 1000;
/** Maximum time for which keys are trusted if the publisher does not respond. */
const MAX_STALE_MS = 60 * 60_000;

/** The row of a key publisher, with the most recently fetched keys. */
export interface PublishedKeys {
  readonly id: string;
  readonly name: string;
  keys: PublicJwk[] | null;
  /** Time of the last successful fetch. */
  keysReadAt: Date | null;
  /** Time of the last fetch, successful or not. */
  keysAskedAt: Date | null;
}

/** KeyRenewals refetches published keys if the keys are old or no key matches. Concurrent calls share one fetch. */
export class KeyRenewals {
  private readonly logger: Logger;
  private readonly readings = new Map<string, Promise<PublicJwk[]>>();
  /** Time of the last fetch by this process, in milliseconds. Renewal uses this time instead of the time in the row, which is not sealed. */
  private readonly asked = new Map<string, number>();

  /** @param whose name of the publisher in log messages, such as `the issuer` */
  constructor(private readonly whose: string) {
    this.logger = new Logger(KeyRenewals.name);
  }

  /**
   * Returns the keys that are currently trusted; undefined if no keys are trusted.
   *
   * @param fresh true if no known key matches: the keys are refetched, unless the publisher was called recently
   * @param renew fetches and stores the keys
   */
  async of(
    row: PublishedKeys,
    fresh: boolean,
    renew: () => Promise<PublicJwk[]>,
  ): Promise<readonly PublicJwk[] | undefined> {
    const isKnown = row.keys !== null && ageOf(row.keysReadAt) < FRESH_MS;
    // If the keys were never fetched, the URL may have just changed, so the pause does not apply.
    const hasPaused = row.keysAskedAt === null || Date.now() - (this.asked.get(row.id) ?? 0) > PAUSE_MS;
    const isDue = hasPaused && (!isKnown || (fresh && ageOf(row.keysAskedAt) > PAUSE_MS));
    return isDue ? this.renewed(row, renew) : believable(row);
  }

  private async renewed(
    row: PublishedKeys,
    renew: () => Promise<PublicJwk[]>,
  ): Promise<readonly PublicJwk[] | undefined> {
    this.asked.set(row.id, Date.now());
    const reading = this.readings.get(row.id) ?? renew();
    this.readings.set(row.id, reading);
    try {
      const keys = await reading;
      // Updates the caller's row, so that the keys are not fetched a second time for the same token.
      return Object.assign(row, { keys, keysReadAt: new Date() }).keys;
    } catch (error) {
      this.logger.warn(`unable to fetch the keys of ${this.whose} ${row.name}: ${reasonOf(error)}`);
      return believable(row);
    } finally {
      row.keysAskedAt = new Date();
      this.readings.delete(row.id);
    }
  }
}

/** Thumbprints (RFC 7638) of the added and the removed keys. */
export type KeyChange = { readonly added: string[]; readonly removed: string[] };

/**
 * Stores the publisher's current keys in the caller's transaction. Returns undefined if the keys are unchanged, or if the row was deleted.
 *
 * @param endBy returns the change to the locked row that ends the rights obtained with keys that are no longer published
 */
export async function storeKeys<Row extends PublishedKeys & SealedEntity>(
  tx: EntityManager,
  rows: SealedClass<Row>,
  where: FindOptionsWhere<Row>,
  keys: readonly PublicJwk[],
  endBy?: (row: Row) => Promise<Partial<Row>>,
): Promise<KeyChange | undefined> {
  const before = await tx.findOne(rows, { where, lock: { mode: 'pessimistic_write' } });
  if (before === null) return undefined;
  const change = keyChange(before.keys ?? [], keys);
  const end = change === undefined || change.removed.length === 0 ? {} : await endBy?.(before);
  await changeSealed(tx, rows, where, { ...end, keys: [...keys], keysReadAt: new Date() } as Partial<Row>);
  return change;
}

/** Returns the difference between two sets of keys; undefined if they are equal. */
export function keyChange(before: readonly PublicJwk[], after: readonly PublicJwk[]): KeyChange | undefined {
  const [old, now] = [thumbprintsOf(before), thumbprintsOf(after)];
  const added = now.filter((one) => !old.includes(one));
  const removed = old.filter((one) => !now.includes(one));
  return added.length + removed.length === 0 ? undefined : { added, removed };
}

function believable({ keys, keysReadAt }: PublishedKeys): readonly PublicJwk[] | undefined {
  return keys !== null && ageOf(keysReadAt) < MAX_STALE_MS ? keys : undefined;
}

function ageOf(since: Date | null): number {
  return since === null ? Infinity : Date.now() - since.getTime();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
