import { viewOf } from '../../../platform/http/fields/view-of.js';
import type { DemoRemoved } from './demo.service.js';

export class DemoView {
  /** Number of demo sources, whose names begin with `demo:`; 0 if there is no demo data. @example 5 */
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
  /** Number of days of demo history. @example 89 */
  days: number;

  static of(row: DemoRemoved): DemoRemovedView {
    return viewOf(DemoRemovedView, row);
  }
}
