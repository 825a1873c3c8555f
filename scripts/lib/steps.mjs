import { stripVTControlCharacters } from 'node:util';
import { Failure } from './failure.mjs';

// A terminal that was closed must not keep the stores from being stopped.
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

/** After this no further step begins, and none goes on behind the caller's back: someone is stopping everything. */
export function haltSteps() {
  halted = true;
}

export const isHalted = () => halted;

/** Returns at once, or never when steps were halted. */
export const whileNotHalted = () => (halted ? never() : undefined);

/** Steps under way, the oldest first. */
const underWay = new Set();

/** The line that counts the time, of all that are under way. */
function showUnderWay() {
  const [oldest] = underWay;
  if (!tty || halted || oldest === undefined) return;
  const titles = Array.from(underWay, ({ title }) => title).join(', ');
  process.stdout.write(`\r\u001B[2K${dim('…')} ${titles} ${dim(seconds(performance.now() - oldest.begun))}`);
}

/**
 * Runs one step and shows it: a line that counts the time on a terminal; elsewhere a line when it has ended, and one before
 * when it takes long. `work` is given `note(text)` for what is worth a line below the step. Several may be under way at once.
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

/** Shows a failure on stderr: the tool's own words, what went wrong, what to do. An unexpected error keeps its stack. */
export function showFailure(error) {
  const lines = [''];
  if (error instanceof Failure) {
    if (error.detail) lines.push(dim(lastLines(plain(error.detail), 40)), '');
    lines.push(`${red('✖')} ${bold(error.message)}`);
    if (error.advice) lines.push(...error.advice.split('\n').map((line) => `  ${line}`));
  } else {
    lines.push(`${red('✖')} This should not happen:`, error?.stack ?? String(error));
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Some tools colour whatever they write, wherever it goes. */
function plain(text) {
  return coloured ? text : stripVTControlCharacters(text);
}

export function lastLines(text, count) {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
