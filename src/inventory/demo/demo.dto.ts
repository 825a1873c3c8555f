import type { DemoRemoved } from './demo.service.js';

export class DemoRemovedView {
  /** @example 5 */
  sources: number;
  /** @example 60 */
  assets: number;
  /** Of risk over time. @example 89 */
  days: number;

  static of({ sources, assets, days }: DemoRemoved): DemoRemovedView {
    return { sources, assets, days };
  }
}
