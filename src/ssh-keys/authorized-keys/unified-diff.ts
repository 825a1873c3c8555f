import type { AuthorizedKeysLine } from '../../platform/ssh/authorized-keys-file.js';

export interface Changed {
  readonly line: AuthorizedKeysLine;
  readonly becomes: readonly AuthorizedKeysLine[];
}

interface Row {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;

/** What `diff -u` would show, without the times of the files; empty when nothing changes. */
export function unifiedDiff(path: string, changes: readonly Changed[]): string {
  const rows = changes.flatMap(rowsOf);
  const touched = rows.flatMap(({ mark }, i) => (mark === ' ' ? [] : [i]));
  if (touched.length === 0) return '';
  const hunks = hunksOf(touched, rows.length).map(([from, to]) => hunkText(rows, from, to));
  return `--- ${path}\n+++ ${path}\n${hunks.join('')}`;
}

function rowsOf({ line, becomes }: Changed): Row[] {
  const kept = becomes.findIndex(({ text }) => text === line.text);
  if (kept === -1) return [{ mark: '-', text: line.text }, ...becomes.map(added)];
  return [...becomes.slice(0, kept).map(added), { mark: ' ', text: line.text }, ...becomes.slice(kept + 1).map(added)];
}

function added({ text }: AuthorizedKeysLine): Row {
  return { mark: '+', text };
}

/** Ranges of rows, each with its context; ranges that touch are one. */
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
  return `@@ -${range('+')} +${range('-')} @@\n${shown.map(({ mark, text }) => `${mark}${text}\n`).join('')}`;
}
