import type { Evidence } from './evidence.js';
import type { Injected } from './faults.js';
import type { FaultKind } from './schedule.js';

export interface Recovery {
  readonly kind: FaultKind;
  readonly count: number;
  /** Milliseconds from the end of the fault to the first answer 2xx to a call sent after it: median and worst. */
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

/** Milliseconds from the acceptance to the signature of background requests, sorted; on the clock of the database. */
export function backgroundLatencies({ rows, intents }: Evidence): number[] {
  return rows
    .filter(({ reference, status }) => status === 'SIGNED' && intents.get(reference)?.background === true)
    .map(({ created, finished }) => (finished ?? Number.NaN) - created)
    .sort((a, b) => a - b);
}

/** A process that was killed counts as a fault that ended at once, so its time contains the restart where one was needed. */
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
  // After the very last faults there may be no work left.
  const times = faults
    .flatMap((fault) => {
      const at = successAfter(fault);
      return at === undefined ? [] : [at - fault.cleared];
    })
    .sort((a, b) => a - b);
  return { median: quantile(times, 0.5), worst: quantile(times, 1) };
}
