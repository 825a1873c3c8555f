import type { Fault } from '../../../platform/errors/problem.js';
import { truncate } from '../../../platform/text/truncate.js';
import { pointerStep } from '../../../platform/json/json-pointer.js';

/** Duplicate is an item in a list that is equal to an earlier item. */
export interface Duplicate {
  readonly list: unknown[];
  readonly index: number;
  readonly pointer: string;
}

const MAX_FAULTS = 100;

/** SchemaFaults collects the faults of a check. Checks push steps to `path` and pop them again, so that memory is allocated only for faults. */
export class SchemaFaults {
  readonly path: (string | number)[] = [];
  readonly faults: Fault[] = [];
  /** Duplicate items, which can be removed without loss. */
  readonly duplicates: Duplicate[] = [];
  private more = 0;

  /** Depth of the deepest fault. A deeper fault means that the value is a better match for a branch of oneOf. */
  deepest = 0;

  get count(): number {
    return this.faults.length + this.duplicates.length + this.more;
  }

  add(detail: string, ...below: (string | number)[]): false {
    this.deepest = Math.max(this.deepest, this.path.length + below.length);
    return this.addAt(pointerOf([...this.path, ...below]), detail);
  }

  addAt(pointer: string, detail: string): false {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ pointer, detail });
    else this.more += 1;
    return false;
  }

  addDuplicate(list: unknown[], index: number): false {
    this.duplicates.push({ list, index, pointer: pointerOf([...this.path, index]) });
    return false;
  }

  /** Returns a new collector at the same path, for a branch that may be discarded. */
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

function pointerOf(path: readonly (string | number)[]): string {
  return path.map((part) => `/${escape(String(part))}`).join('');
}

function escape(part: string): string {
  return pointerStep(truncate(part, 100).replaceAll('\u0000', ''));
}
