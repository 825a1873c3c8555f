import { viewOf } from '../../platform/http/fields/view-of.js';
import type { DemoRemoved } from './demo.service.js';

export class DemoView {
  /** Sources that were made up; their names begin with `demo:`. None: all of it is real. @example 5 */
  sources: number;

  static of(sources: number): DemoView {
    return { sources };
  }
}

export class DemoRemovedView {
  /** @example 5 */
  sources: number;
  /** @example 60 */
  assets: number;
  /** Of risk over time. @example 89 */
  days: number;

  static of(row: DemoRemoved): DemoRemovedView {
    return viewOf(DemoRemovedView, row);
  }
}
