import { parseArgs } from 'node:util';
import { type ControlName, CONTROLS } from './signing/controls.js';
import { type Options, proveSigning } from './signing/prove.js';
import { reportText } from './signing/report.js';
import { FAULT_KINDS, type FaultKind } from './signing/schedule.js';

/**
 * npm run proof -- signing [--seed N] [--seconds N] [--rate N] [--faults N] [--kinds A,B] [--control NAME] [--logs DIR]
 * Exits with 0 if every invariant holds; with --control, if the invariants detected the removed safeguard.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    rate: { type: 'string', default: '30' },
    faults: { type: 'string' },
    'deadline-ms': { type: 'string', default: '5000' },
    kinds: { type: 'string' },
    control: { type: 'string' },
    logs: { type: 'string' },
  },
});

const options = optionsFrom();
const outcome = await proveSigning(options);
options.say(reportText(outcome));
process.exitCode = outcome.passed ? 0 : 1;

function optionsFrom(): Options {
  const control = values.control;
  if (control !== undefined && !(control in CONTROLS)) {
    throw new Error(`there is no control "${control}"; one of ${Object.keys(CONTROLS).join(', ')}`);
  }
  const short = control !== undefined;
  return {
    seed: whole('seed', values.seed),
    seconds: whole('seconds', values.seconds ?? (short ? '45' : '180')),
    rate: whole('rate', values.rate),
    faults: whole('faults', values.faults ?? (short ? '6' : '66')),
    deadlineMs: whole('deadline-ms', values['deadline-ms']),
    control: control as ControlName | undefined,
    kinds: values.kinds?.split(',').map(kindNamed),
    logs: values.logs,
    say: (line) => process.stdout.write(`${line}\n`),
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} must be a whole number, not "${text}"`);
  return value;
}

function kindNamed(name: string): FaultKind {
  const kind = FAULT_KINDS.find((known) => known === name);
  if (kind === undefined) throw new Error(`there is no fault "${name}"; one of ${FAULT_KINDS.join(', ')}`);
  return kind;
}
