import { type Match, matchingLines } from './line-match.js';

type Encoding = 'utf8' | 'latin1';

interface Row {
  readonly mark: ' ' | '-' | '+';
  /** Line, including the line feed if the line has one. */
  readonly line: string;
}

const CONTEXT = 3;
const NO_END = '\\ No newline at end of file\n';
/** Characters that would change how a line is displayed. */
const MISLEADING = /\p{Bidi_Control}|\p{Zl}|\p{Zp}|[\u0080-\u009f]/u;

/**
 * unifiedDiff returns the output of `diff -u` for two files, without timestamps, or an empty string if the files are equal. The diff contains every difference,
 * so `withDiff` recreates the second file from the first.
 */
export function unifiedDiff(path: string, before: Buffer, after: Buffer): string {
  if (before.equals(after)) return '';
  const encoding = encodingOf(before, after);
  const [old, next] = [linesOf(before.toString(encoding)), linesOf(after.toString(encoding))];
  const rows = rowsOf(old, next, matchingLines(old, next));
  const touched = rows.flatMap(({ mark }, i) => (mark === ' ' ? [] : [i]));
  const hunks = hunksOf(touched, rows.length).map(([from, to]) => hunkText(rows, from, to));
  return `--- ${path}\n+++ ${path}\n${hunks.join('')}`;
}

/** Applies a diff created by `unifiedDiff` to `before`. Throws an Error if the diff does not match the file. */
export function withDiff(before: Buffer, diff: string, encoding: Encoding): Buffer {
  if (diff === '') return before;
  const old = linesOf(before.toString(encoding));
  const made: string[] = [];
  let at = 0;
  for (const { mark, line, from } of changesOf(diff)) {
    while (at < from) made.push(old[at++] ?? notOfThisFile());
    if (mark !== '+' && old[at++] !== line) notOfThisFile();
    if (mark !== '-') made.push(line);
  }
  return Buffer.from([...made, ...old.slice(at)].join(''), encoding);
}

/** Reports whether a diff is complete, so that applying the diff to the old file yields the new file. */
export function showsWhole(before: Buffer, diff: string, after: Buffer): boolean {
  return withDiff(before, diff, encodingOf(before, after)).equals(after);
}

/** Returns UTF-8 if both files are valid UTF-8 without misleading characters, otherwise an encoding with one character per byte. */
export function encodingOf(before: Buffer, after: Buffer): Encoding {
  const isReadable = (bytes: Buffer) => {
    const text = bytes.toString('utf8');
    return Buffer.from(text, 'utf8').equals(bytes) && !MISLEADING.test(text);
  };
  return isReadable(before) && isReadable(after) ? 'utf8' : 'latin1';
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  return [...lines.map((line) => `${line}\n`), ...(last === '' ? [] : [last])];
}

function rowsOf(before: readonly string[], after: readonly string[], matches: readonly Match[]): Row[] {
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  const to = (x: number, y: number) => {
    for (; i < x; i += 1) rows.push({ mark: '-', line: before[i] ?? '' });
    for (; j < y; j += 1) rows.push({ mark: '+', line: after[j] ?? '' });
  };
  for (const [x, y] of matches) {
    to(x, y);
    rows.push({ mark: ' ', line: before[x] ?? '' });
    [i, j] = [x + 1, y + 1];
  }
  to(before.length, after.length);
  return rows;
}

/** Returns ranges of rows, extended by context lines. Adjacent ranges are merged. */
function hunksOf(touched: readonly number[], length: number): [number, number][] {
  const hunks: [number, number][] = [];
  for (const row of touched) {
    const from = Math.max(0, row - CONTEXT);
    const to = Math.min(length, row + CONTEXT + 1);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

function hunkText(rows: readonly Row[], from: number, to: number): string {
  const shown = rows.slice(from, to);
  const count = (part: readonly Row[], other: string) => part.filter(({ mark }) => mark !== other).length;
  const range = (other: string) => {
    const lines = count(shown, other);
    const start = count(rows.slice(0, from), other) + (lines === 0 ? 0 : 1);
    return `${start},${lines}`;
  };
  const text = shown.map(({ mark, line }) => (line.endsWith('\n') ? mark + line : `${mark}${line}\n${NO_END}`));
  return `@@ -${range('+')} +${range('-')} @@\n${text.join('')}`;
}

/** Returns the rows of a diff. `from` is the number of lines in the old file that precede the hunk. */
function changesOf(diff: string): (Row & { readonly from: number })[] {
  const rows: (Row & { from: number })[] = [];
  const [, , ...lines] = diff.split('\n').slice(0, -1);
  let from = 0;
  let rest = 0;
  for (const [index, text] of lines.entries()) {
    if (`${text}\n` === NO_END) continue;
    const [, start, old, next] = /^@@ -(\d+),(\d+) \+\d+,(\d+) @@$/.exec(rest === 0 ? text : '') ?? [];
    if (start !== undefined) {
      from = Number(start) - (old === '0' ? 0 : 1);
      rest = Number(old) + Number(next);
      continue;
    }
    const mark = text.charAt(0);
    if (rest === 0 || (mark !== ' ' && mark !== '-' && mark !== '+')) return notOfThisFile();
    rest -= mark === ' ' ? 2 : 1;
    rows.push({ mark, from, line: text.slice(1) + (`${lines[index + 1]}\n` === NO_END ? '' : '\n') });
  }
  return rows;
}

function notOfThisFile(): never {
  throw new Error('the diff does not apply to this file');
}
