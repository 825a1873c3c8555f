import { type ControlName, CONTROLS } from './controls.js';
import { backgroundLatencies, quantile, recoveries } from './figures.js';
import type { Outcome } from './prove.js';

const SHOWN = 8;

/** Formats the report of a run for a terminal. */
export function reportText(outcome: Outcome): string {
  return [requestLines(outcome), faultLines(outcome), invariantLines(outcome), verdictLines(outcome)].flat().join('\n');
}

function requestLines({ evidence, load, drainMs }: Outcome): string[] {
  const { intents, answers, rows } = evidence;
  const latencies = backgroundLatencies(evidence);
  const of = (purpose: string) => answers.filter((answer) => answer.purpose === purpose).length;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  const retries = [...load.retries].sort((a, b) => b[1] - a[1]).map(([what, count]) => `${what.trim()} ${count}`);
  return [
    '',
    `Requests    ${intents.size} wanted, ${rows.length} accepted, ${of('repeat')} repeated on purpose, ${of('other-body')} with another body, ${of('follow')} polls answered`,
    `Calls       ${load.calls} sent; sent again after: ${retries.join(', ') || 'nothing'}`,
    `Latency     background, accepted to SIGNED: p50 ${seconds(quantile(latencies, 0.5))}, p99 ${seconds(quantile(latencies, 0.99))}, max ${seconds(quantile(latencies, 1))}`,
    `Drain       ${seconds(drainMs)} after the load ended and the faults were healed`,
  ];
}

function faultLines({ evidence, injected, schedule }: Outcome): string[] {
  const kinds = recoveries(evidence, injected).sort((a, b) => a.kind.localeCompare(b.kind));
  const ms = (value: number) => (Number.isNaN(value) ? '-' : value.toFixed(0)).padStart(6);
  return [
    `Faults      ${injected.length} of ${schedule.length} injected, ${kinds.length} kinds`,
    '',
    `${'fault'.padEnd(20)} count   first 2xx (ms)       next background signature (ms)`,
    `${''.padEnd(20)}         median  worst        median  worst`,
    ...kinds.map(
      ({ kind, count, answer, background }) =>
        `${kind.padEnd(20)} ${String(count).padStart(5)}   ${ms(answer.median)} ${ms(answer.worst)}        ${ms(background.median)} ${ms(background.worst)}`,
    ),
    '',
  ];
}

function invariantLines({ findings }: Outcome): string[] {
  return findings.flatMap(({ id, title, figures, violations }) => [
    `${violations.length === 0 ? 'holds   ' : 'VIOLATED'} ${id.padStart(2)}  ${title}`,
    `             ${figures}`,
    ...violations.slice(0, SHOWN).map((violation) => `             ! ${violation}`),
    ...(violations.length > SHOWN ? [`             ! and ${violations.length - SHOWN} more`] : []),
  ]);
}

function verdictLines({ control, passed, troubles, findings, seed }: Outcome): string[] {
  const violated = findings.filter(({ violations }) => violations.length > 0).map(({ id }) => id);
  const lines = ['', ...troubles.map((trouble) => `! ${trouble}`)];
  if (control === undefined) {
    const sum = passed ? 'every invariant holds' : `VIOLATED: ${violated.join(', ') || 'see above'}`;
    return [...lines, `Seed ${seed}: ${sum}`];
  }
  return [...lines, controlVerdict(control, violated, passed, seed)];
}

function controlVerdict(control: ControlName, violated: string[], passed: boolean, seed: number): string {
  const { meaning } = CONTROLS[control];
  return passed
    ? `Seed ${seed}, control ${control} (${meaning}): caught by ${violated.join(', ')}`
    : `Seed ${seed}, control ${control} (${meaning}): NOT CAUGHT, so this run proves nothing`;
}
