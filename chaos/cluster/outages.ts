import type { Call } from './clients.js';
import type { NodeNumber } from './network.js';

/** A period in which calls to a machine were expected to fail, for example because the machine was isolated. */
export interface Excuse {
  readonly node: NodeNumber;
  readonly from: number;
  to: number;
}

export interface Stretch {
  readonly node: NodeNumber;
  readonly from: number;
  readonly seconds: number;
}

/**
 * Returns the periods in which an api answered only 5xx, longest first. Responses from a machine isolated by the proof do not count, because no api can
 * complete writes there.
 */
export function stretchesOf5xx(calls: readonly Call[], excuses: readonly Excuse[]): Stretch[] {
  const isExcused = ({ node, came }: Call) =>
    excuses.some((excuse) => excuse.node === node && came >= excuse.from && came <= excuse.to);
  const counted = calls.filter((call) => call.status !== 0 && !isExcused(call)).toSorted((a, b) => a.came - b.came);
  const stretches: Stretch[] = [];
  for (const [node, answers] of Map.groupBy(counted, (call) => call.node)) {
    let from: number | undefined;
    let last = 0;
    for (const { status, came } of [...answers, { status: 200, came: 0 }]) {
      if (status >= 500) {
        from ??= came;
        last = came;
        continue;
      }
      if (from !== undefined) stretches.push({ node, from, seconds: (last - from) / 1000 });
      from = undefined;
    }
  }
  return stretches.toSorted((a, b) => b.seconds - a.seconds);
}
