import { stripVTControlCharacters } from 'node:util';
import { Failure } from './failure.mjs';

// A closed terminal must not prevent the stores from being stopped.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const tty = process.stdout.isTTY && process.env.CI === undefined && process.env.TERM !== 'dumb';
export const coloured = tty && process.env.NO_COLOR === undefined;
const paint = (code) => (text) => (coloured ? `\u001B[${code}m${text}\u001B[0m` : text);

export const green = paint('32');
export const red = paint('31');
export const yellow = paint('33');
export const dim = paint('2');
export const bold = paint('1');

export const say = (line = '') => process.stdout.write(`${line}\n`);

export function seconds(milliseconds) {
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

let halted = false;
const never = () => new Promise(() => {});

/** haltSteps prevents steps from starting or continuing while everything is being stopped. */
export function haltSteps() {
  halted = true;
}

export const isHalted = () => halted;

/** whileNotHalted returns immediately, or returns a promise that never resolves if steps have been halted. */
export const whileNotHalted = () => (halted ? never() : undefined);

/** Steps in progress, oldest first. */
const underWay = new Set();

/** Shows a line with all steps in progress and the elapsed time. */
function showUnderWay() {
  const [oldest] = underWay;
  if (!tty || halted || oldest === undefined) return;
  const titles = Array.from(underWay, ({ title }) => title).join(', ');
  process.stdout.write(`\r\u001B[2K${dim('…')} ${titles} ${dim(seconds(performance.now() - oldest.begun))}`);
}

/**
 * step runs one step and shows its progress. On a terminal, it shows a line with the elapsed time. Elsewhere, it prints a line when the step has ended, and an
 * additional line if the step takes long. `work` receives `note(text)`, which adds a line below the step. Several steps may run concurrently.
 * @template T
 * @param {string} title
 * @param {(note: (text: string) => void) => Promise<T> | T} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  await whileNotHalted();
  const own = { title, begun: performance.now() };
  const elapsed = () => dim(seconds(performance.now() - own.begun));
  const notes = [];
  const clear = () => {
    underWay.delete(own);
    if (tty) process.stdout.write('\r\u001B[2K');
  };
  underWay.add(own);
  showUnderWay();
  const timer = tty ? setInterval(showUnderWay, 500) : setTimeout(() => say(`… ${title}`), 5000);
  try {
    const result = await work((text) => notes.push(text));
    clear();
    if (halted) return never();
    say(`${green('✔')} ${title} ${elapsed()}`);
    for (const text of notes) say(dim(`  ${text}`));
    return result;
  } catch (error) {
    clear();
    if (halted) return never();
    say(`${red('✖')} ${title} ${elapsed()}`);
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** showFailure prints a failure on stderr: the tool's output, what went wrong, and what to do. Unexpected errors are shown with their stack. */
export function showFailure(error) {
  const lines = [''];
  if (error instanceof Failure) {
    if (error.detail) lines.push(dim(lastLines(plain(error.detail), 40)), '');
    lines.push(`${red('✖')} ${bold(error.message)}`);
    if (error.advice) lines.push(...error.advice.split('\n').map((line) => `  ${line}`));
  } else {
    lines.push(`${red('✖')} Internal error:`, error?.stack ?? String(error));
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Removes colors unless they are enabled. Some tools always write colors, even if the output is not a terminal. */
function plain(text) {
  return coloured ? text : stripVTControlCharacters(text);
}

export function lastLines(text, count) {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
