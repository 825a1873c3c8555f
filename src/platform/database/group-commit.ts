import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { isAboutTheRow, isWorthAnotherTry } from './database-error.js';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

interface Shape {
  /** Milliseconds that the first item of a group waits for others. A lone caller does not wait. */
  readonly lingerMs: number;
  /** Largest group. */
  readonly max: number;
  /** Groups that may be under way at once. */
  readonly lanes: number;
}

/**
 * Joins writes that come at the same time into one transaction: one multi-row statement and one flush to disk
 * instead of one each. An item's promise settles after its group's COMMIT, never before.
 *
 * When one row spoils a group, the items are written one by one, so that only the culprit fails.
 */
export class GroupCommit<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private underWay = 0;
  private lastSize = 1;
  private timer: NodeJS.Timeout | undefined;
  private idle: (() => void)[] = [];

  /** `write` gets the group and answers one result per item, in the same order. */
  constructor(
    private readonly db: DataSource,
    private readonly write: (tx: EntityManager, items: Item[]) => Promise<Result[]>,
    private readonly shape: Shape = { lingerMs: 5, max: 128, lanes: 1 },
  ) {}

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.waiting.push({ item, resolve, reject });
    if (this.waiting.length >= this.shape.max) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), this.lastSize > 1 ? this.shape.lingerMs : 0);
    return promise;
  }

  /** Settles when nothing waits and nothing is under way. */
  async drained(): Promise<void> {
    while (this.waiting.length > 0 || this.underWay > 0) {
      await new Promise<void>((resolve) => {
        this.idle.push(resolve);
      });
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    // While all connections are busy items gather; the one that ends next commits them.
    while (this.underWay < this.shape.lanes && this.waiting.length > 0) {
      const group = this.waiting.splice(0, this.shape.max);
      this.lastSize = group.length;
      this.underWay += 1;
      void this.settle(group).finally(() => this.ended());
    }
  }

  private ended(): void {
    this.underWay -= 1;
    if (this.waiting.length > 0) this.flush();
    else if (this.underWay === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private async settle(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.commit(group.map(({ item }) => item));
      if (results.length !== group.length) throw new Error('a group write must return one result per item');
      group.forEach(({ resolve }, i) => resolve(results[i] as Result));
    } catch (error) {
      if (group.length === 1 || !isAboutTheRow(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
      for (const one of group) await this.settle([one]);
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
