import type { Evidence } from './evidence.js';
import type { Injected } from './faults.js';
import type { FaultKind } from './schedule.js';

export interface Recovery {
  readonly kind: FaultKind;
  readonly count: number;
  /** Milliseconds from the end of the fault to the first 2xx response to a call sent after the fault: median and worst. */
  readonly answer: Spread;
  /** Milliseconds from the end of the fault to the next background signature: median and worst. */
  readonly background: Spread;
}

interface Spread {
  readonly median: number;
  readonly worst: number;
}

export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns the milliseconds from acceptance to signature of each background request, sorted. Times are from the database clock. */
export function backgroundLatencies({ rows, intents }: Evidence): number[] {
  return rows
    .filter(({ reference, status }) => status === 'SIGNED' && intents.get(reference)?.background === true)
    .map(({ created, finished }) => (finished ?? Number.NaN) - created)
    .sort((a, b) => a - b);
}

/** Returns the recovery times by kind of fault. A kill counts as a fault that ended immediately, so its recovery time includes any restart. */
export function recoveries({ rows, answers, intents }: Evidence, injected: readonly Injected[]): Recovery[] {
  const good = answers.filter(({ status }) => status === 200 || status === 202).sort((a, b) => a.came - b.came);
  const signed = rows
    .filter(({ reference, status }) => status === 'SIGNED' && intents.get(reference)?.background === true)
    .map(({ finished }) => finished ?? 0)
    .sort((a, b) => a - b);
  return [...Map.groupBy(injected, ({ kind }) => kind)].map(([kind, faults]) => ({
    kind,
    count: faults.length,
    answer: spread(faults, ({ cleared }) => good.find(({ sent }) => sent >= cleared)?.came),
    background: spread(faults, ({ cleared }) => signed.find((at) => at >= cleared)),
  }));
}

function spread(faults: readonly Injected[], successAfter: (fault: Injected) => number | undefined): Spread {
  // After the last faults, there may be no work left from which to measure a recovery time.
  const times = faults
    .flatMap((fault) => {
      const at = successAfter(fault);
      return at === undefined ? [] : [at - fault.cleared];
    })
    .sort((a, b) => a - b);
  return { median: quantile(times, 0.5), worst: quantile(times, 1) };
}
