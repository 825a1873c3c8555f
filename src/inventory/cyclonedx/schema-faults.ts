import type { Fault } from '../../platform/errors/problem.js';
import { pointerOf } from './json-pointer.js';

/** A list that holds the item at `index` a second time. */
export interface Duplicate {
  readonly list: unknown[];
  readonly index: number;
  readonly pointer: string;
}

const MAX_FAULTS = 100;

/** What a check found; the path is a stack that checks push to and pop from, so that only faults cost memory. */
export class SchemaFaults {
  readonly path: (string | number)[] = [];
  readonly faults: Fault[] = [];
  /** Repeated items: the one fault that can be put right without losing anything. */
  readonly duplicates: Duplicate[] = [];
  private more = 0;

  /** Where the first fault lies: how far a branch of oneOf got. */
  deepest = 0;

  get count(): number {
    return this.faults.length + this.duplicates.length + this.more;
  }

  add(detail: string, ...below: (string | number)[]): false {
    this.deepest = Math.max(this.deepest, this.path.length + below.length);
    if (this.faults.length < MAX_FAULTS) this.faults.push({ pointer: pointerOf([...this.path, ...below]), detail });
    else this.more += 1;
    return false;
  }

  addDuplicate(list: unknown[], index: number): false {
    this.duplicates.push({ list, index, pointer: pointerOf([...this.path, index]) });
    return false;
  }

  /** A fresh collector at the same place, for a branch that may not count. */
  branch(): SchemaFaults {
    const branch = new SchemaFaults();
    branch.path.push(...this.path);
    return branch;
  }

  take(branch: SchemaFaults): void {
    this.faults.push(...branch.faults.slice(0, MAX_FAULTS - this.faults.length));
    this.duplicates.push(...branch.duplicates);
    this.more += branch.more;
    this.deepest = Math.max(this.deepest, branch.deepest);
  }
}
