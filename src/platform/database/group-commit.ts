import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { FairQueue } from './fair-queue.js';
import { isAboutTheRow, isWorthAnotherTry } from '../errors/database-error.js';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

interface Shape<Item> {
  /** Milliseconds that the first item of a group waits for more items. An isolated caller does not wait. */
  readonly lingerMs: number;
  /** Maximum number of items in a group. */
  readonly max: number;
  /** Maximum number of groups written concurrently. */
  readonly lanes: number;
  /** Returns the caller of an item. Callers take turns, so that the items of one caller do not delay the items of other callers. */
  readonly callerOf: (item: Item) => string;
}

/**
 * GroupCommit combines concurrent writes into one transaction, which needs one multi-row statement and one flush to disk. An item's promise settles only
 * after its group's COMMIT.
 *
 * If an item makes a group fail, the group is halved recursively and the halves are written separately, so that only the faulty item fails, at the cost of a
 * few more transactions.
 */
export class GroupCommit<Item, Result> {
  private readonly waiting = new FairQueue<Waiting<Item, Result>>();
  private readonly shape: Shape<Item>;
  private underWay = 0;
  private lastSize = 1;
  private timer: NodeJS.Timeout | undefined;
  private idle: (() => void)[] = [];

  /** @param write writes the group and returns one result per item, in the same order */
  constructor(
    private readonly db: DataSource,
    private readonly write: (tx: EntityManager, items: Item[]) => Promise<Result[]>,
    shape: Partial<Shape<Item>> = {},
  ) {
    this.shape = { lingerMs: 5, max: 128, lanes: 1, callerOf: () => '', ...shape };
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.waiting.push(this.shape.callerOf(item), { item, resolve, reject });
    if (this.waiting.size >= this.shape.max) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), this.lastSize > 1 ? this.shape.lingerMs : 0);
    return promise;
  }

  /** Resolves when no items are waiting or being written. */
  async drained(): Promise<void> {
    while (this.waiting.size > 0 || this.underWay > 0) {
      await new Promise<void>((resolve) => {
        this.idle.push(resolve);
      });
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    // While all lanes are busy, items accumulate. The next lane to become free commits the items.
    while (this.underWay < this.shape.lanes && this.waiting.size > 0) {
      const group = this.waiting.take(this.shape.max);
      this.lastSize = group.length;
      this.underWay += 1;
      void this.settle(group).finally(() => this.ended());
    }
  }

  private ended(): void {
    this.underWay -= 1;
    if (this.waiting.size > 0) this.flush();
    else if (this.underWay === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private async settle(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.commit(group.map(({ item }) => item));
      if (results.length !== group.length) throw new Error('a group write must return exactly one result per item');
      group.forEach(({ resolve }, i) => resolve(results[i] as Result));
    } catch (error) {
      if (group.length === 1 || !isAboutTheRow(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.settle(group.slice(0, half));
      await this.settle(group.slice(half));
    }
  }

  private async commit(items: Item[]): Promise<Result[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.db.transaction((tx) => this.write(tx, items));
      } catch (error) {
        if (attempt === 3 || !isWorthAnotherTry(error)) throw error;
        await sleep(attempt * 20 * Math.random());
      }
    }
  }
}
